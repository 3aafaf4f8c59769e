"""A first ranking of single edits, by their words alone: most end there, before the surrogate reads a text.

Were a text's vector the sum of its words' vectors u, an edit would move it by `u(new) - u(old)`. How far that
goes along what the text lacks, `target - vector`, costs one product per word instead of a pass over a text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.model.word_vectors import WordVectors
from unembed.search.error_model import Floats
from unembed.search.single_edits import Neighbour

# What a nat of a text's trigram log-probability is worth here. Between 0.002 and 0.01 it hardly matters.
TRIGRAM_WORTH = 0.005
DENOISER_WORTH = 0.04  # and one of the new word's by the denoiser


def order_by_words(
    words: WordVectors, neighbours: Sequence[Neighbour], lack: Floats, trigram_log_probs: Floats | None
) -> NDArray[np.int64]:
    """Indices of single edits, most promising first. lack: [D], the target less the text's vector."""
    involved = sorted({word for one in neighbours for word in (one.added, one.removed) if word is not None})
    along = words(np.array(involved, dtype=np.int64)) @ lack  # [words]
    gain = dict(zip(involved, along.tolist(), strict=True))
    value = np.array(
        [_of(gain, one.added) - _of(gain, one.removed) + DENOISER_WORTH * one.log_prob for one in neighbours],
        dtype=np.float32,
    )  # [n]
    if trigram_log_probs is not None:
        value += np.float32(TRIGRAM_WORTH) * trigram_log_probs
    return np.argsort(-value, kind="stable")


def _of(gain: dict[int, float], word: int | None) -> float:
    return 0.0 if word is None else gain[word]
