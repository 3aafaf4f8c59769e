"""A first ranking of single edits, by their words alone: most end there, before the surrogate reads a text.

Were a text's vector the sum of its words' vectors u, an edit would move it by `u(new) - u(old)`. How far that
goes along what the text lacks, `target - vector`, costs one product per word instead of a pass over a text.
The words' vectors are the surrogate's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.model.checkpoint import Checkpoint
from unembed.search.error_model import Floats
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.single_edits import Neighbour

# What a nat of a text's trigram log-probability is worth here. Between 0.002 and 0.01 it hardly matters.
TRIGRAM_WORTH = 0.005
DENOISER_WORTH = 0.04  # and one of the new word's by the denoiser


class WordRanking:
    """Remembers the vectors of all words that it has met."""

    def __init__(self, checkpoint: Checkpoint, prefilter: SurrogatePrefilter) -> None:
        self._checkpoint, self._prefilter = checkpoint, prefilter
        self._vectors: dict[int, Floats] = {}  # by entry, [D]

    def order(
        self, neighbours: Sequence[Neighbour], lack: Floats, trigram_log_probs: Floats | None
    ) -> NDArray[np.int64]:
        """Indices of single edits, most promising first. lack: [D], the target less the text's vector."""
        words = sorted({word for one in neighbours for word in (one.added, one.removed) if word is not None})
        self._learn([word for word in words if word not in self._vectors])
        along = np.array([self._vectors[word] @ lack for word in words], dtype=np.float32)  # [words]
        gain = dict(zip(words, along.tolist(), strict=True))
        value = np.array(
            [
                _of(gain, one.added) - _of(gain, one.removed) + DENOISER_WORTH * one.log_prob
                for one in neighbours
            ],
            dtype=np.float32,
        )  # [n]
        if trigram_log_probs is not None:
            value += np.float32(TRIGRAM_WORTH) * trigram_log_probs
        return np.argsort(-value, kind="stable")

    def _learn(self, words: Sequence[int]) -> None:
        if words:
            [vectors] = self._prefilter.embed([self._checkpoint.texts([(word,) for word in words])])
            self._vectors.update(zip(words, vectors, strict=True))


def _of(gain: dict[int, float], word: int | None) -> float:
    return 0.0 if word is None else gain[word]
