"""The pipeline that people import: vectors in, texts out.

>>> from unembed import Inverter
>>> inverter = Inverter.from_pretrained()
>>> inverter.invert(vector).text
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.adaptation.first_map import fit_first_map
from unembed.compute.precision import Precision, choose_precision, computing
from unembed.decode.beginnings import beginnings_of, check_beginnings
from unembed.decode.observer import Observer, SearchProgress, Update
from unembed.decode.result import Advance, Alternative, Frame, Inversion
from unembed.decode.strategy import InversionRun, KnownPairs, Strategy
from unembed.encoders import Encoder, load_encoder
from unembed.errors import DataError, MismatchError, UnembedError, UsageError
from unembed.invert_config import InvertConfig
from unembed.metrics.cosine import cosines
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.model.bundled import BUNDLED
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import SURROGATE
from unembed.model.trigrams import Phrases
from unembed.model.wiener import WienerFilter
from unembed.search.guided_strategy import Guided, check_guide
from unembed.strategies import make_strategy
from unembed.vectors.arrays import is_one, windows
from unembed.vectors.plausibility import PlausibilityCheck, PlausibilityWarning, check_dimension, unusable

__all__ = [
    "Advance",
    "Alternative",
    "Frame",
    "Inversion",
    "InvertConfig",
    "Inverter",
    "Observer",
    "PlausibilityWarning",
    "RoundTrip",
    "SearchProgress",
    "Update",
]

WINDOW = 4  # batches of vectors that are sorted by length together


OneVector = Sequence[float]
ManyVectors = Sequence[Sequence[float]] | Sequence[NDArray[np.float32]]


@dataclass(frozen=True)
class RoundTrip:
    """A text, its vector, and what came back from it."""

    text: str
    vector: NDArray[np.float32]  # [D]
    inversion: Inversion
    cosine: float  # between the vectors of both texts
    seconds: float  # of the inversion, without the encoding; an equal share where texts shared a batch


class Inverter:
    """A trained model and everything around it: tokenizer, decoders, checks, and its encoder on request."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        encoder: Encoder | None = None,
        base_encoder: Encoder | None = None,
        device: str | torch.device = "cpu",
        trust_remote_code: bool = False,
    ) -> None:
        self.checkpoint = checkpoint
        self._base_encoder = base_encoder  # an adapter's base's; likewise
        self._encoder = encoder  # the model's own; without one it is loaded on first use
        self._loaded: dict[str, Encoder] = {}  # by name
        self.trust_remote_code = trust_remote_code  # whether an encoder may run code that it brings along
        self.device = torch.device(device)
        self.denoiser = checkpoint.denoiser.to(self.device).eval()

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path | None = None,
        *,
        device: str | torch.device = "cpu",
        trust_remote_code: bool = False,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
    ) -> Inverter:
        """The bundled model; or a model's folder; or the name of an encoder that an adapter ships for; or a
        hub id, with the hub's options.

        Code that its encoder's model folder brings along runs only with `trust_remote_code=True`.
        """
        if name is None:
            if not BUNDLED.is_dir():
                raise UnembedError(
                    "No model is bundled with this build of unembed.",
                    hint="Name a model's folder or hub id, or train one: unembed train --help",
                )
            name = BUNDLED
        checkpoint = Checkpoint.from_pretrained(
            name, revision=revision, token=token, cache_dir=cache_dir, local_files_only=local_files_only
        )
        return cls(checkpoint, device=device, trust_remote_code=trust_remote_code)

    @property
    def dimension(self) -> int:
        """Dimension of the vectors that it inverts."""
        return self.denoiser.config.vector_dim

    @property
    def max_length(self) -> int:
        """The longest text in the model's tokens."""
        return self.denoiser.config.max_length

    @property
    def fixed_length(self) -> bool:
        """Whether the model ends its texts by itself; otherwise it needs a length, or guesses it."""
        return self.denoiser.config.length == "fixed"

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder whose vectors it inverts. Inverting does not need it."""
        wanted = self.checkpoint.config.encoder
        encoder = self._encoder or self._load_encoder(wanted.name)
        if encoder.info.digest != wanted.digest:
            raise MismatchError(
                f"The encoder '{wanted.name}' here is not the one that this model was trained for: "
                "its weights differ.",
                hint="Invert vectors that the original encoder made, or train a model for this one.",
            )
        return encoder

    def _load_encoder(self, name: str) -> Encoder:
        """Loaded once: it takes seconds, and of a paid endpoint every probe costs."""
        if name not in self._loaded:
            self._loaded[name] = load_encoder(
                name, device=str(self.device), trust_remote_code=self.trust_remote_code
            )
        return self._loaded[name]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:  # [N, D]
        """Vectors of texts, by the model's own encoder."""
        return self.encoder.encode(texts)

    def guide(self, encoder: str | Encoder | None = None) -> Encoder:
        """The encoder that guides a search: the model's own, one by name, or the model's surrogate."""
        if encoder is None:
            return self.encoder
        if not isinstance(encoder, str):
            found = encoder
        elif encoder == SURROGATE:
            found = self.surrogate
        else:
            found = self._load_encoder(encoder)
        check_guide(found, self.checkpoint)
        return found

    @property
    def surrogate(self) -> Encoder:
        """The surrogate of its encoder that came with the model: it needs no call of the encoder."""
        return self.checkpoint.surrogate

    @property
    def phrases(self) -> Phrases | None:
        """Counts of word pairs and triples in the training texts, if they came with the model."""
        return self.checkpoint.phrases

    @property
    def has_surrogate(self) -> bool:
        """Whether a surrogate of its encoder came with the model."""
        return self.checkpoint.has_surrogate

    @overload
    def invert(self, vectors: OneVector, config: InvertConfig | None = None, **how: Any) -> Inversion: ...

    @overload
    def invert(
        self, vectors: ManyVectors, config: InvertConfig | None = None, **how: Any
    ) -> list[Inversion]: ...

    @overload  # an array may be either
    def invert(self, vectors: Any, config: InvertConfig | None = None, **how: Any) -> Any: ...

    def invert(self, vectors: Any, config: InvertConfig | None = None, **how: Any) -> Any:
        """The texts that vectors stand for: an `Inversion` for one vector, a list of them for many.

        Vectors are numpy, torch or lists. The other arguments are those of `stream`.
        """
        if not is_one(vectors):
            return list(self.stream(vectors, config, **how))
        [found] = self.stream(vectors[None] if hasattr(vectors, "ndim") else [vectors], config, **how)
        return found

    def stream(
        self,
        vectors: Any,
        config: InvertConfig | None = None,
        *,
        encoder: str | Encoder | None = None,
        observe: Observer | None = None,
        **fields: Any,
    ) -> Iterator[Inversion]:
        """The same, one result after the other, in constant memory.

        `vectors` may be a memory-mapped array of any size or any iterable of vectors. Its options
        are an `InvertConfig`, or its fields as keywords; other keywords are options of the strategy:
        `share=0.1` for euler-remask, `max_encoder_calls=2000` for guided. A vector's text depends on the
        vector, the seed and the options, not on its neighbours.

        The strategy "guided" needs an encoder: `encoder` is its name, "surrogate", or the encoder itself; by
        default the one that the model was trained for. Ctrl-C ends the search, not the inversion: it gives
        the nearest texts so far. `observe` is called after every step, of any strategy.
        """
        if encoder is not None and isinstance(encoder, str):
            fields["encoder"], encoder = encoder, None
        config = InvertConfig.of(config, fields)
        strategy = make_strategy(config.strategy, config.options)
        if config.lengths is not None:
            self.check_lengths(config.lengths, vectors)
        if config.beginnings is not None:
            check_beginnings(config, vectors, whole=not strategy.needs_encoder)
        return self._stream(vectors, strategy, self._run(strategy, config, encoder, observe))

    def _run(
        self, strategy: Strategy, config: InvertConfig, encoder: Encoder | None, observe: Observer | None
    ) -> InversionRun:
        """What the strategy works with: for a search an encoder, and what came with the model."""
        if not strategy.needs_encoder:
            self.checkpoint.check_map()
            if encoder is not None or config.encoder is not None:
                raise UsageError(
                    f"The strategy '{config.strategy}' needs no encoder.",
                    hint="Give strategy='guided' with it.",
                )
            surrogate = self.surrogate if self._ranks_by_surrogate(config) else None
            phrases = None if surrogate is None else self.phrases
            return InversionRun(self.checkpoint, config, observe, surrogate=surrogate, phrases=phrases)
        if config.encoder == SURROGATE:
            self.checkpoint.check_map()
        judge = self.guide(config.encoder if encoder is None else encoder)
        prefilter = self.surrogate if self.has_surrogate and config.encoder != SURROGATE else None
        return InversionRun(
            self.checkpoint,
            config,
            observe,
            judge,
            prefilter,
            self.phrases,
            base_encoder=lambda: self.base_encoder,
        )

    @cached_property
    def base_encoder(self) -> Encoder:
        """The encoder that an adapter's base was trained for."""
        model = self.checkpoint
        base = model.base.config.encoder if isinstance(model, AdaptedCheckpoint) else model.config.encoder
        found = self._base_encoder or self._load_encoder(base.name)
        if found.info.digest != base.digest:
            raise MismatchError(
                f"The encoder '{base.name}' here is not the one that the adapter's base was trained for.",
                hint="Install that version of the encoder, or adapt another base.",
            )
        return found

    def _fit_first_map(self, strategy: Guided, run: InversionRun) -> None:
        """Give an adapter without pairs a map: the run's first encoder calls, once for all of its vectors."""
        model, settings = run.checkpoint, strategy.settings
        assert isinstance(model, AdaptedCheckpoint)
        assert run.encoder is not None
        strategy.check_first_texts()
        run.checkpoint, pairs = fit_first_map(model, run.encoder, self.base_encoder, settings.first_texts)
        run.known = KnownPairs(pairs.texts, pairs.vectors)
        run.surrogate = run.checkpoint.surrogate if run.checkpoint.has_surrogate else None
        run.spent = len(pairs.texts)

    def precision(self, config: InvertConfig | None = None) -> Precision:
        """The precision that it computes in on this processor, by a configuration or by default."""
        return choose_precision((config or InvertConfig()).precision, self.device)

    def _ranks_by_surrogate(self, config: InvertConfig) -> bool:
        """Whether a surrogate chooses among the hypotheses; one that is asked for by name must be there."""
        if config.ranking == "surrogate" and not self.has_surrogate:
            raise UsageError(
                "This model has no surrogate to rank texts by.",
                hint="Train one (unembed surrogate --model MODEL), or leave out the ranking.",
            )
        return config.ranking != "score" and self.has_surrogate

    def _stream(self, vectors: Any, strategy: Strategy, run: InversionRun) -> Iterator[Inversion]:
        config = run.config
        plausible: PlausibilityCheck | None = None
        # A search remembers megabytes of each vector; and each has many proposals, which fill a pass anyway.
        together = config.batch_size * (1 if strategy.needs_encoder else WINDOW)
        first = 0
        for batch in windows(vectors, together):
            check_dimension(batch, self.dimension)
            reasons = unusable(batch)  # [n]
            good = np.array([reason is None for reason in reasons], dtype=bool)  # [n]
            if config.bad_vectors == "raise" and not good.all():
                raise DataError(
                    f"Vector {first + int((~good).argmax())} holds NaN or infinity.",
                    hint="Leave it out, or set bad_vectors='record' to get a result that says so.",
                )
            if not run.checkpoint.has_map:
                assert isinstance(strategy, Guided)
                self._fit_first_map(strategy, run)
            if config.check and plausible is None:
                plausible = PlausibilityCheck(run.checkpoint)
            if plausible is not None and (complaint := plausible(batch[good])) is not None:
                warnings.warn(complaint, PlausibilityWarning, stacklevel=2)
            if config.vector_noise:
                batch = self._wiener(torch.from_numpy(batch), config.vector_noise).numpy()
            lengths = _lengths(config.lengths, first, len(batch))
            if lengths is not None:
                lengths = lengths[torch.from_numpy(good)]
            run.rows = (first + good.nonzero()[0]).tolist()
            if config.beginnings is not None:
                run.beginnings = beginnings_of(self.checkpoint, config.beginnings, run.rows, lengths)
            with computing(self.precision(config)):
                found = iter(strategy.invert(run, batch[good], lengths))
            for reason in reasons:
                yield next(found) if reason is None else _not_inverted(reason)
            first += len(batch)

    @cached_property
    def _wiener(self) -> WienerFilter:
        """What takes known noise off: it knows how the vectors are spread that the model learnt from."""
        if self.denoiser.config.native_dim is not None:
            raise UsageError(
                "An adapter does not know how its encoder's vectors are spread.",
                hint="Leave out vector_noise; fit the adapter on noisy vectors instead.",
            )
        return WienerFilter.of(self.denoiser.standardise)

    def round_trip(
        self, texts: Sequence[str], config: InvertConfig | None = None, **fields: Any
    ) -> list[RoundTrip]:
        """Each text's vector by the model's own encoder, and the text that comes back from it.

        >>> [trip] = inverter.round_trip(["The cat sat on the mat."])
        >>> trip.inversion.text, trip.cosine
        """
        vectors = self.encode(texts)  # [N, D]
        began = time.perf_counter()
        found = self.invert(vectors, config, **fields)
        seconds = (time.perf_counter() - began) / max(1, len(texts))
        back = self.encode([one.text for one in found])  # [N, D]
        return [
            RoundTrip(text, vector, one, cosine, seconds)
            for text, vector, one, cosine in zip(
                texts, vectors, found, cosines(vectors, back).tolist(), strict=True
            )
        ]

    def save_pretrained(self, folder: str | Path) -> Path:
        """Write the model's folder, with everything that came with it: `from_pretrained` reads it."""
        self.checkpoint.save_pretrained(folder)
        return Path(folder)

    def push_to_hub(self, repo: str, *, token: str | None = None, private: bool = False) -> str:
        """Upload the same folder to the Hugging Face hub; returns its address."""
        address: str = self.checkpoint.push_to_hub(repo, token=token, private=private)
        return address

    def check_lengths(self, lengths: int | Sequence[int], vectors: Any = None) -> None:
        """Raise an error unless this model can write texts of these lengths, one for each of the vectors."""
        if self.fixed_length:
            raise UsageError(
                "This model ends its texts by itself: lengths cannot be given.",
                hint="Leave them out, or use a model that was trained with length: given.",
            )
        several = [lengths] if isinstance(lengths, int) else [int(length) for length in lengths]
        wrong = [length for length in several if not 1 <= length <= self.max_length]
        if wrong:
            raise UsageError(
                f"A length of {wrong[0]} tokens: this model reads texts of 1 to {self.max_length} tokens.",
                hint="Give a length in that range, or none: the model then predicts it.",
            )
        if not isinstance(lengths, int) and hasattr(vectors, "__len__") and len(vectors) != len(several):
            raise UsageError(
                f"There are {len(several)} lengths for {len(vectors)} vectors.",
                hint="Give one length for all, or one per vector.",
            )


def _lengths(lengths: int | tuple[int, ...] | None, first: int, count: int) -> Tensor | None:
    """The lengths of a batch, where they are known.  # [n]"""
    if lengths is None:
        return None
    if isinstance(lengths, int):
        return torch.full((count,), lengths)
    if len(lengths) < first + count:
        raise UsageError(
            f"There are {len(lengths)} lengths, and more vectors than that.",
            hint="Give one length for all, or one per vector.",
        )
    return torch.tensor(lengths[first : first + count])


def _not_inverted(reason: str) -> Inversion:
    return Inversion(text="", tokens=(), score=0.0, forward_passes=0, length_known=False, error=reason)
