"""A surrogate's vectors of single words: what each word alone says, remembered.

Were a text's vector the sum of its words' vectors u, an edit would move it by `u(new) - u(old)`. How far that
goes along what a text lacks costs one product per word instead of a pass over a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Texts = Callable[[Sequence[Sequence[int]]], list[str]]  # a model's entries as texts


class WordVectors:
    """Reads a word when it is first asked for. texts: as `Checkpoint.texts`; size: of the vocabulary."""

    def __init__(self, texts: Texts, size: int, surrogate: Encoder) -> None:
        self._texts, self._surrogate = texts, surrogate
        self._row = np.full(size, -1, dtype=np.int64)  # [V] of each word, -1: unread
        self._vectors = np.zeros((0, surrogate.info.dimension), dtype=np.float32)  # [words, D]
        self._lock = Lock()

    def __call__(self, words: Ints) -> Floats:
        """The unit vectors of these entries [n].  # [n, D]"""
        with self._lock:
            new = np.unique(words[self._row[words] < 0])
            if len(new):
                vectors = self._surrogate.encode(self._texts([(word,) for word in new.tolist()]))
                lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
                self._row[new] = len(self._vectors) + np.arange(len(new))
                self._vectors = np.concatenate([self._vectors, (vectors / lengths).astype(np.float32)])
            out: Floats = self._vectors[self._row[words]]
            return out
