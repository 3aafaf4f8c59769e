"""A surrogate's vectors of single words: what each word alone says, remembered.

Were a text's vector the sum of its words' vectors u, an edit would move it by `u(new) - u(old)`. How far that
goes along what a text lacks costs one product per word instead of a pass over a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from unembed.compute.precision import Precision, current_precision
from unembed.encoders.base import Encoder

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Texts = Callable[[Sequence[Sequence[int]]], list[str]]  # a model's entries as texts


@dataclass
class _Known:
    """The words that were read."""

    row: Ints  # [V] of each word among the vectors, -1: unread
    vectors: Floats  # [words, D]


class WordVectors:
    """Reads a word when it is first asked for, in each precision that is computed in.

    texts: as `Checkpoint.texts`; size: of the vocabulary.
    """

    def __init__(self, texts: Texts, size: int, surrogate: Encoder) -> None:
        self._texts, self._size, self._surrogate = texts, size, surrogate
        self._known: dict[Precision | None, _Known] = {}
        self._lock = Lock()

    def __call__(self, words: Ints) -> Floats:
        """The unit vectors of these entries [n].  # [n, D]"""
        with self._lock:
            # What one run read in bf16 is not what another that asked for float32 reads.
            known = self._known.setdefault(current_precision(), self._nothing())
            new = np.unique(words[known.row[words] < 0])
            if len(new):
                vectors = self._surrogate.encode(self._texts([(word,) for word in new.tolist()]))
                lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
                known.row[new] = len(known.vectors) + np.arange(len(new))
                known.vectors = np.concatenate([known.vectors, (vectors / lengths).astype(np.float32)])
            out: Floats = known.vectors[known.row[words]]
            return out

    def _nothing(self) -> _Known:
        empty = np.zeros((0, self._surrogate.info.dimension), dtype=np.float32)
        return _Known(np.full(self._size, -1, dtype=np.int64), empty)
