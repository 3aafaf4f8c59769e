"""Running an arm: vectors of some samples in, recovered texts out."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.floors import derangement, nearest_texts, random_tokens
from unembed.evaluation.recovery import GuidedAttack, Recovered
from unembed.evaluation.samples import MASKS, add_noise, token_lists
from unembed.evaluation.targets import Target
from unembed.evaluation.variants import Arm
from unembed.metrics.denoising import denoise
from unembed.progress import Progress
from unembed.text import read_back


class Attack:
    """One arm on one target. What concerns all samples is done once, before the first batch."""

    def __init__(
        self,
        arm: Arm,
        target: Target,
        config: EvaluateConfig,
        guide: Encoder | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.arm, self.target, self.config, self.guide = arm, target, config, guide
        samples = target.samples
        self.lengths = samples.lengths  # [n] what the model is told, or a floor takes
        self.vectors = samples.vectors  # [n, D]
        self.neighbours: NDArray[np.int64] | None = None
        if arm.kind in ("shuffled", "random"):
            other = derangement(len(samples), seed=config.seed)
            if arm.kind == "shuffled":
                self.vectors = samples.vectors[other]
            elif not config.known_length:
                self.lengths = self.lengths[other]
        elif arm.kind == "nearest":
            train = target.data.split("train")
            self.neighbours = nearest_texts(
                samples.vectors, train, limit=config.neighbours, progress=progress
            )
        elif arm.noise:
            normalised = target.data.manifest.encoder.normalised
            self.vectors = add_noise(samples, arm.noise, seed=config.seed, normalised=normalised)
        # What happens only once must not count as the first texts' time.
        if arm.guided:
            self.search(np.arange(1), [1])
        elif arm.kind in ("model", "shuffled"):
            self._invert(np.arange(1))

    def search(self, places: NDArray[np.int64], budgets: Sequence[int | None]) -> list[list[Recovered]]:
        """With an encoder at hand: the recovered texts of some samples, for each number of its calls."""
        assert self.guide is not None
        config = self.config
        attack = GuidedAttack(
            self.target.inverter,
            self.guide,
            config.guide,
            self.arm.steps,
            config.seed,
            config.batch,
            config.search_options,
        )
        return attack.run(self.vectors[places], self._told(places), budgets)

    def run(self, places: NDArray[np.int64]) -> list[Recovered]:
        """The recovered texts of some of the samples, by their places among the drawn ones."""
        if self.arm.kind in ("model", "shuffled"):
            return self._invert(places)
        samples, tokenizer = self.target.samples, self.target.checkpoint.tokenizer
        if self.arm.kind == "original":
            return [Recovered(samples.texts[place], samples.tokens[place]) for place in places]
        if self.arm.kind == "random":
            vocabulary = self.target.checkpoint.vocabulary
            ids = random_tokens(
                vocabulary, self.lengths[places], samples.numbers[places], seed=self.config.seed
            )
            texts = read_back(tokenizer, ids)
        else:
            assert self.neighbours is not None
            train = self.target.data.split("train")
            chosen = self.neighbours[places]
            texts = train.texts(chosen)
            ids = token_lists(train, chosen)
            if tokenizer.to_str() != self.target.data.tokenizer().to_str():
                ids = [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
        return [Recovered(text, tokens) for text, tokens in zip(texts, ids, strict=True)]

    def denoise(self, places: NDArray[np.int64]) -> NDArray[np.float64]:  # [n, 2]
        """Hits and masked tokens of some of the samples, teacher-forced."""
        samples, checkpoint = self.target.samples, self.target.checkpoint
        assert self.arm.ratio is not None
        numbers = samples.numbers[places].tolist()
        streams = [np.random.SeedSequence([self.config.seed, MASKS, number]) for number in numbers]
        return denoise(
            checkpoint.denoiser,
            checkpoint.vocabulary,
            samples.vectors[places],
            [samples.tokens[place] for place in places],
            ratio=self.arm.ratio,
            seeds=[int(stream.generate_state(1)[0]) for stream in streams],
        )

    def _told(self, places: NDArray[np.int64]) -> list[int] | None:
        """The lengths, where the model is told them."""
        if not self.config.known_length or self.target.fixed_length:
            return None
        longest = self.target.checkpoint.config.denoiser.max_length
        told: list[int] = np.minimum(self.lengths[places], longest).tolist()
        return told

    def _invert(self, places: NDArray[np.int64]) -> list[Recovered]:
        start = time.perf_counter()
        results = self.target.inverter.invert(
            self.vectors[places],
            strategy=self.arm.strategy,
            steps=self.arm.steps,
            seed=self.config.seed,
            lengths=self._told(places),
            batch=self.config.batch,
            check=False,  # noise is meant to look strange, and the data's encoder was checked
            **({} if self.arm.remask is None else {"share": self.arm.remask}),
        )
        seconds = (time.perf_counter() - start) / len(places)
        return [
            Recovered(found.text, list(found.tokens), found.score, found.forward_passes, seconds)
            for found in results
        ]
