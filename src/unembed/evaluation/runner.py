"""Running one variant: indices of some samples in, recovered texts out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.floors import derangement, nearest_texts, random_tokens
from unembed.evaluation.recovery import Recovered, Recovery
from unembed.evaluation.samples import MASKS, add_noise, token_lists
from unembed.evaluation.targets import Target
from unembed.evaluation.variants import Variant
from unembed.metrics.denoising import denoise
from unembed.metrics.word_recall import recall_words
from unembed.progress import Progress
from unembed.text import read_back

Indices = NDArray[np.int64]  # of samples, among the drawn ones


class VariantRunner:
    """One variant on one target. What concerns all samples is done once, before the first batch."""

    def __init__(
        self,
        variant: Variant,
        target: Target,
        config: EvaluateConfig,
        guide: Encoder | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.variant, self.target, self.config = variant, target, config
        samples = target.samples
        self.lengths = samples.lengths  # [n] what the model is given, or a floor takes
        self.vectors = samples.vectors  # [n, D]
        self.neighbours: NDArray[np.int64] | None = None
        if variant.kind in ("shuffled", "random"):
            other = derangement(len(samples), seed=config.seed)
            if variant.kind == "shuffled":
                self.vectors = samples.vectors[other]
            elif not config.known_length:
                self.lengths = self.lengths[other]
        elif variant.kind == "nearest":
            train = target.data.split("train")
            self.neighbours = nearest_texts(
                samples.vectors, train, limit=config.neighbours, progress=progress
            )
        elif variant.noise:
            normalised = target.data.manifest.encoder.normalised
            self.vectors = add_noise(samples, variant.noise, seed=config.seed, normalised=normalised)
        self.recovery = self._recovery(guide)
        # What happens only once must not count as the first texts' time.
        first = np.arange(1)
        if variant.guided:
            if target.checkpoint.has_map:  # else one call would not do
                self.search(first, [1])
        elif variant.kind in ("model", "shuffled"):
            self.recovery.texts(self.vectors[first], self._given_lengths(first))

    def _recovery(self, guide: Encoder | None) -> Recovery:
        variant, config = self.variant, self.config
        options = config.search_options if variant.guided else {}
        if variant.remask is not None:
            options = {"share": variant.remask}
        return Recovery(
            self.target.inverter,
            strategy=variant.strategy,
            quality=config.quality,
            steps=variant.steps,
            num_lengths=config.num_lengths,
            ranking=config.ranking,
            precision=config.precision,
            seed=config.seed,
            batch=config.batch,
            options=options,
            guide=guide,
            guide_name=config.guide,
        )

    def search(self, indices: Indices, budgets: Sequence[int | None]) -> list[list[Recovered]]:
        """Guided: the recovered texts of some samples, for each number of encoder calls."""
        return self.recovery.texts_within(self.vectors[indices], self._given_lengths(indices), budgets)

    def run(self, indices: Indices) -> list[Recovered]:
        """The recovered texts of some of the samples."""
        if self.variant.kind in ("model", "shuffled"):
            return self.recovery.texts(self.vectors[indices], self._given_lengths(indices))
        samples, tokenizer = self.target.samples, self.target.checkpoint.tokenizer
        if self.variant.kind == "original":
            return [Recovered(samples.texts[index], samples.tokens[index]) for index in indices]
        if self.variant.kind == "random":
            vocabulary = self.target.checkpoint.vocabulary
            ids = random_tokens(
                vocabulary, self.lengths[indices], samples.numbers[indices], seed=self.config.seed
            )
            texts = read_back(tokenizer, ids)
        else:
            texts, ids = self._nearest(indices)
        return [Recovered(text, tokens) for text, tokens in zip(texts, ids, strict=True)]

    def _nearest(self, indices: Indices) -> tuple[list[str], list[list[int]]]:
        """The nearest training texts, and their tokens."""
        assert self.neighbours is not None
        train, tokenizer = self.target.data.split("train"), self.target.checkpoint.tokenizer
        chosen = self.neighbours[indices]
        texts = train.texts(chosen)
        if tokenizer.to_str() == self.target.data.tokenizer().to_str():
            return texts, token_lists(train, chosen)
        return texts, [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]

    def denoise(self, indices: Indices) -> NDArray[np.float64]:  # [n, 2]
        """Hits and masked tokens of some of the samples, teacher-forced."""
        samples, checkpoint = self.target.samples, self.target.checkpoint
        assert self.variant.ratio is not None
        numbers = samples.numbers[indices].tolist()
        streams = [np.random.SeedSequence([self.config.seed, MASKS, number]) for number in numbers]
        return denoise(
            checkpoint.denoiser,
            checkpoint.vocabulary,
            samples.vectors[indices],
            [samples.tokens[index] for index in indices],
            ratio=self.variant.ratio,
            seeds=[int(stream.generate_state(1)[0]) for stream in streams],
        )

    def recall_words(self, indices: Indices) -> NDArray[np.float64]:  # [n, 2]
        """Tokens of some of the samples among the lexical head's likeliest, and all their tokens."""
        samples, checkpoint = self.target.samples, self.target.checkpoint
        assert self.variant.likeliest is not None
        return recall_words(
            checkpoint.denoiser,
            checkpoint.vocabulary,
            samples.vectors[indices],
            [samples.tokens[index] for index in indices],
            likeliest=self.variant.likeliest,
        )

    def _given_lengths(self, indices: Indices) -> list[int] | None:
        """The lengths, where the model is given them."""
        if not self.config.known_length or self.target.fixed_length:
            return None
        longest = self.target.checkpoint.config.denoiser.max_length
        given: list[int] = np.minimum(self.lengths[indices], longest).tolist()
        return given
