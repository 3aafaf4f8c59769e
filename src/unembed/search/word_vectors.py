"""The surrogate's vectors of single words: what each word alone says, remembered.

Were a text's vector the sum of its words' vectors u, an edit would move it by `u(new) - u(old)`. How far that
goes along what a text lacks costs one product per word instead of a pass over a text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.model.checkpoint import Checkpoint
from unembed.search.error_model import Floats, unit


class WordVectors:
    """Reads a word when it is first asked for."""

    def __init__(self, checkpoint: Checkpoint, surrogate: Encoder) -> None:
        self._checkpoint, self._surrogate = checkpoint, surrogate
        self._row = np.full(len(checkpoint.vocabulary), -1, dtype=np.int64)  # [V] of each word, -1: unread
        self._vectors = np.zeros((0, surrogate.info.dimension), dtype=np.float32)  # [words, D]

    def __call__(self, words: NDArray[np.int64]) -> Floats:
        """The unit vectors of these entries [n].  # [n, D]"""
        new = np.unique(words[self._row[words] < 0])
        if len(new):
            texts = self._checkpoint.texts([(word,) for word in new.tolist()])
            self._row[new] = len(self._vectors) + np.arange(len(new))
            self._vectors = np.concatenate([self._vectors, unit(self._surrogate.encode(texts))])
        return self._vectors[self._row[words]]
