"""Positional token accuracy: the share of positions whose token came back, pooled over all texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.metrics.base import Pair


def token_hits(target: Sequence[int], recovered: Sequence[int]) -> tuple[int, int]:
    """Positions that agree, and positions of the longer sequence: what is missing or too much is wrong."""
    hits = sum(a == b for a, b in zip(target, recovered, strict=False))
    return hits, max(len(target), len(recovered))


class Ratio:
    """Hits over trials, pooled: every trial counts the same, so a long text counts more."""

    percent = True
    bounds = (0.0, 1.0)
    best = 1.0
    compares = True

    def value(self, sums: NDArray[np.float64], n: int) -> float:
        # Two empty texts agree everywhere there is something to agree.
        return float(sums[0] / sums[1]) if sums[1] else 1.0


class TokenAccuracy(Ratio):
    """Free-running: the recovered text was decoded from all positions masked."""

    name = "token_accuracy"
    label = "Token accuracy"

    def signature(self, languages: Sequence[str]) -> str:
        return "positional, over the longer sequence, pooled over positions, free-running from all masked"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        hits = [token_hits(pair.target_tokens, pair.recovered_tokens) for pair in pairs]
        return np.array(hits, dtype=np.float64).reshape(-1, 2)
