"""A strategy turns a batch of vectors into texts. Decoders are one kind; guided search is another.

A new strategy is a file that implements `Strategy` and one line in `unembed/strategies.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.base import Decoder
from unembed.decode.beginnings import Entries
from unembed.decode.invert_batch import invert_batch
from unembed.decode.observer import Observer
from unembed.decode.result import Inversion
from unembed.encoders.base import Encoder
from unembed.invert_config import InvertConfig
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.model.word_vectors import WordVectors


@dataclass(frozen=True)
class KnownPairs:
    """Texts and their vectors by the encoder that judges."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]  # [n, D]


@dataclass
class InversionRun:
    """One call of `Inverter.stream`: what strategies work with, and what they remember between batches."""

    checkpoint: Checkpoint
    config: InvertConfig
    observe: Observer | None = None
    encoder: Encoder | None = None  # judges texts, where the strategy needs one
    surrogate: Encoder | None = None  # of the encoder: ranks texts without a call of it
    phrases: Phrases | None = None
    base_encoder: Callable[[], Encoder] | None = None  # of an adapter's base, loaded when it is needed
    known: KnownPairs | None = None  # texts of which it has vectors by the encoder already
    spent: int = 0  # encoder calls that each vector has to its account before it is searched for
    interrupted: bool = False  # by Ctrl-C: the rest is decoded without a search
    rows: Sequence[int] = ()  # which vectors of the stream the current batch holds
    beginnings: Sequence[Entries] | None = None  # how the current batch's texts begin, where that is known
    memory: dict[str, Any] = field(default_factory=dict)  # what a strategy keeps from batch to batch
    started: float = field(default_factory=lambda: time.monotonic())

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.started

    @property
    def word_vectors(self) -> WordVectors | None:
        """The surrogate's vectors of the vocabulary's words; the model keeps those of its own."""
        if self.surrogate is None:
            return None
        model = self.checkpoint
        if model.has_surrogate and self.surrogate is model.surrogate:
            return model.word_vectors
        return WordVectors(model.texts, len(model.vocabulary), self.surrogate)

    @property
    def batch_observer(self) -> Observer | None:
        """The observer, with rows of the stream instead of rows of the batch."""
        observe, rows = self.observe, self.rows
        if observe is None:
            return None
        return lambda updates: observe([replace(one, row=rows[one.row]) for one in updates])


class Strategy(Protocol):
    """The contract test in tests/test_strategies.py says what each must keep to."""

    @property
    def needs_encoder(self) -> bool:
        """Whether `run.encoder` must be there."""

    def invert(
        self, run: InversionRun, vectors: NDArray[np.float32], lengths: Tensor | None
    ) -> list[Inversion]:
        """One text per vector [n, D]; `lengths` [n] where the caller knows them."""


@dataclass(frozen=True)
class Decoding:
    """A decoder as a strategy: denoise from all masks, at the likeliest lengths, and keep the best."""

    decoder: Decoder
    needs_encoder: ClassVar[bool] = False

    def invert(
        self, run: InversionRun, vectors: NDArray[np.float32], lengths: Tensor | None
    ) -> list[Inversion]:
        return invert_batch(
            run.checkpoint,
            vectors,
            lengths,
            self.decoder,
            run.config,
            run.batch_observer,
            run.surrogate,
            run.beginnings,
        )
