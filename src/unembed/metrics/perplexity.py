"""Perplexity of the recovered texts under a causal language model: do they read like language?

It says nothing about what was recovered: a fluent text that has nothing to do with the target scores
well, and so does a text that repeats itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.metrics.base import Pair
from unembed.metrics.causal import CausalModel


class Perplexity:
    """exp(-log-likelihood / tokens), both summed over all texts, each text alone after the start token."""

    name = "perplexity"
    label = "Perplexity"
    percent = False
    bounds = (1.0, math.inf)
    best = 1.0
    compares = False

    def __init__(self, model: CausalModel) -> None:
        self._model = model

    def signature(self, languages: Sequence[str]) -> str:
        return f"under {self._model.name}, pooled over its tokens"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        scored = self._model.losses([pair.recovered for pair in pairs])
        return np.array(scored, dtype=np.float64).reshape(-1, 2)

    def value(self, sums: NDArray[np.float64], n: int) -> float:
        return math.exp(min(float(sums[0] / sums[1]), 700.0))
