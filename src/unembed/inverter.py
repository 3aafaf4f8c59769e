"""The pipeline that people import: vectors in, texts out.

>>> from unembed import Inverter
>>> inverter = Inverter.from_pretrained()
>>> inverter.invert(vector).text
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.invert_batch import Settings, invert_batch
from unembed.decode.registry import DEFAULT, make_decoder
from unembed.decode.result import Advance, Alternative, Frame, Inversion
from unembed.encoders import Encoder, load_encoder
from unembed.errors import MismatchError, UnembedError, UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import SURROGATE
from unembed.model.phrases import Phrases
from unembed.search.guided_search import Observer
from unembed.search.strategies import Guided, make_strategy
from unembed.search.window import Search, check_guide, search_window
from unembed.vectors.arrays import is_one, windows
from unembed.vectors.plausibility import PlausibilityCheck, PlausibilityWarning, check_numbers

__all__ = ["Advance", "Alternative", "Frame", "Inversion", "Inverter", "PlausibilityWarning"]

BUNDLED = Path(__file__).parent / "assets" / "minilm-en"
BATCH = 64
WINDOW = 4  # batches of vectors that are sorted by length together


class Inverter:
    """A trained model and everything around it: tokenizer, decoders, checks, and its encoder on request."""

    def __init__(
        self, checkpoint: Checkpoint, *, device: str | torch.device = "cpu", trust_remote_code: bool = False
    ) -> None:
        self.checkpoint = checkpoint
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
        """The bundled model; or a model's folder; or a hub id, with the hub's options.

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
        encoder = self._load_encoder(wanted.name)
        if encoder.info.digest != wanted.digest:
            raise MismatchError(
                f"The encoder '{wanted.name}' here is not the one that this model was trained for: "
                "its weights differ.",
                hint="Invert vectors that the original encoder made, or train a model for this one.",
            )
        return encoder

    def _load_encoder(self, name: str) -> Encoder:
        return load_encoder(name, device=str(self.device), trust_remote_code=self.trust_remote_code)

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
        """The imitation of its encoder that came with the model: no call of the real one is needed."""
        return self.checkpoint.surrogate

    def search(
        self, strategy: Guided, encoder: str | Encoder | None = None, observe: Observer | None = None
    ) -> Search:
        """A guided search, with all that came with the model: its phrases, and its surrogate as a scout,
        where another encoder guides."""
        guide = self.guide(encoder)
        scout = self.surrogate if self.has_surrogate and encoder != SURROGATE else None
        return Search(strategy, guide, observe, scout, self.phrases)

    @property
    def phrases(self) -> Phrases | None:
        """What follows what in the texts that the model learnt from, if that came with it."""
        return self.checkpoint.phrases

    @property
    def has_surrogate(self) -> bool:
        """Whether an imitation of its encoder came with the model."""
        return self.checkpoint.has_surrogate

    def invert(self, vectors: Any, *, lengths: int | Sequence[int] | None = None, **options: Any) -> Any:
        """The texts that vectors stand for: an `Inversion` for one vector, a list of them for many.

        Vectors are numpy, torch or lists. `lengths` are token counts, for a caller who knows them. The
        other options are those of `stream`.
        """
        if not is_one(vectors):
            return list(self.stream(vectors, lengths=lengths, **options))
        alone = vectors[None] if hasattr(vectors, "ndim") else [vectors]
        [result] = self.stream(alone, lengths=lengths, **options)
        return result

    def stream(
        self,
        vectors: Any,
        *,
        lengths: int | Sequence[int] | None = None,
        strategy: str = DEFAULT,
        steps: int | None = None,
        n_best: int = 1,
        seed: int = 0,
        trace: bool = False,
        candidates: int = 5,
        guidance: float = 0.0,
        batch: int = BATCH,
        reuse: bool = False,
        shortlist: int = 0,
        check: bool = True,
        encoder: str | Encoder | None = None,
        observe: Observer | None = None,
        **strategy_options: Any,
    ) -> Iterator[Inversion]:
        """The same, one result after the other, in constant memory.

        `vectors` may be a memory-mapped array of any size or any iterable of vectors. `steps` is the
        budget of forward passes (None: the strategy's own, mostly one a token). Where the length is
        unknown, up to `candidates` of the likeliest are decoded and ranked. `guidance` above 0
        exaggerates what the vector says. `reuse` and a `shortlist` of words above 0 are approximations
        that save arithmetic (docs/decoding.md says what they cost). A vector's text depends on the vector,
        the seed and the options, not on its neighbours. Other options go to the strategy: `share=0.1` for
        euler-remask, `max_encoder_calls=2000` for guided.

        The strategy "guided" searches with an encoder at hand: `encoder` is its name, "surrogate", or the
        encoder itself; by default the one that the model was trained for. `observe` is told after every
        round. Ctrl-C ends the search, not the inversion: it gives the nearest texts so far.
        """
        counts = {"n_best": n_best, "candidates": candidates, "batch": batch, "steps": steps}
        for name, value in counts.items():
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, got {value}.")
        if shortlist < 0:
            raise UsageError(f"shortlist must be a number of words, or 0 for all of them, got {shortlist}.")
        if lengths is not None:
            self._check_lengths(lengths, vectors)
        chosen = make_strategy(strategy, **strategy_options)
        search: Search | None = None
        if isinstance(chosen, Guided):
            search = self.search(chosen, encoder, observe)
            chosen = make_decoder(DEFAULT)
        elif encoder is not None:
            raise UsageError(
                f"The strategy '{strategy}' needs no encoder.", hint="Give strategy='guided' with it."
            )
        settings = Settings(chosen, steps, n_best, seed, trace, candidates, guidance, batch, reuse, shortlist)
        return self._stream(
            vectors, lengths, settings, search, PlausibilityCheck(self.checkpoint) if check else None
        )

    def _stream(
        self,
        vectors: Any,
        lengths: int | Sequence[int] | None,
        settings: Settings,
        search: Search | None,
        plausible: PlausibilityCheck | None,
    ) -> Iterator[Inversion]:
        start = 0
        # A search remembers megabytes of each vector; and each has many drafts, which fill a pass anyway.
        together = settings.batch * (WINDOW if search is None else 1)
        for window in windows(vectors, together):
            check_numbers(window, self.dimension, first=start)
            if plausible is not None and (complaint := plausible(window)) is not None:
                warnings.warn(complaint, PlausibilityWarning, stacklevel=2)
            end = start + len(window)
            known: Tensor | None = None
            if isinstance(lengths, int):
                known = torch.full((len(window),), lengths)
            elif lengths is not None:
                known = torch.tensor([int(length) for length in lengths[start:end]])
                if len(known) < len(window):
                    raise UsageError(f"There are {len(lengths)} lengths, and more vectors than that.")
            if search is None:
                yield from invert_batch(self.checkpoint, window, known, settings)
            else:
                yield from search_window(self.checkpoint, window, known, settings, search)
            start = end

    def _check_lengths(self, lengths: int | Sequence[int], vectors: Any) -> None:
        if self.fixed_length:
            raise UsageError(
                "This model ends its texts by itself: lengths cannot be given.",
                hint="Leave them out, or use a model that was trained with length: given.",
            )
        several = [lengths] if isinstance(lengths, int) else [int(length) for length in lengths]
        wrong = [length for length in several if not 1 <= length <= self.max_length]
        if wrong:
            raise UsageError(
                f"A length of {wrong[0]} tokens: this model reads texts of 1 to {self.max_length} tokens."
            )
        if not isinstance(lengths, int) and hasattr(vectors, "__len__") and len(vectors) != len(several):
            raise UsageError(f"There are {len(several)} lengths for {len(vectors)} vectors.")
