"""Rates with intervals, and their differences to a floor, row by row.

The interval is the bootstrap of `metrics.figure` over rows. Where nothing or everything came back, resampling
shows no spread at all, and the exact bound of a share takes its place: of n rows without a single hit, more
than 1 - 0.05^(1/n) would have shown one in 95 of 100 samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.metrics.accuracy import Ratio
from unembed.metrics.base import MeanMetric, column
from unembed.metrics.figure import LEVEL, Figure, estimate

Doubles = NDArray[np.float64]


class _Mean(MeanMetric):
    name, label = "mean", "Mean"
    bounds = (-1.0, 1.0)

    def signature(self, languages: Sequence[str]) -> str:
        return "mean"

    def statistics(self, pairs: object) -> Doubles:
        raise TypeError("a mean is taken of numbers")


class _Pooled(Ratio):
    name, label = "pooled", "Pooled share"

    def value(self, sums: Doubles, n: int) -> float:
        return float(sums[0] / sums[1]) if sums[1] else 0.0

    def signature(self, languages: Sequence[str]) -> str:
        return "pooled"

    def statistics(self, pairs: object) -> Doubles:
        raise TypeError("a share is taken of counts")


def mean_figure(values: Sequence[float] | Doubles, *, seed: int) -> Figure:
    """The mean of one number per row."""
    return estimate(_Mean(), column(list(values)), seed=seed)


def share_figure(hits: Sequence[float] | Doubles, *, seed: int) -> Figure:
    """The share of rows that are hits."""
    return _not_too_sure(mean_figure(hits, seed=seed), len(hits))


def pooled_figure(hits: Doubles, trials: Doubles, *, seed: int) -> Figure:
    """Hits over trials, where a row may have several; rows are resampled, not trials.  # [n], [n]

    `n` is the number of rows that have any.
    """
    there = trials > 0
    found = estimate(_Pooled(), np.stack([hits[there], trials[there]], axis=1), seed=seed)
    return _not_too_sure(found, int(there.sum()))


def difference_figure(values: Sequence[float] | Doubles, *, seed: int) -> Figure:
    """The mean of one difference per row, which can be below zero."""
    figure = mean_figure(values, seed=seed)
    return _not_too_sure(figure, len(values)) if not np.any(values) else figure


def pooled_difference(hits: Doubles, floor: Doubles, trials: Doubles, *, seed: int) -> Figure:
    """The same, less what a floor hits of the same trials."""
    there = trials > 0
    figure = estimate(_Pooled(), np.stack([(hits - floor)[there], trials[there]], axis=1), seed=seed)
    return _not_too_sure(figure, int(there.sum())) if not np.any(hits - floor) else figure


def _not_too_sure(figure: Figure, n: int) -> Figure:
    bound = 1 - (1 - LEVEL) ** (1 / max(1, n))
    if figure.value == 0:
        return figure.model_copy(update={"low": 0.0, "high": bound})
    if figure.value == 1:
        return figure.model_copy(update={"low": 1 - bound, "high": 1.0})
    return figure
