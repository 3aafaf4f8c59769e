"""A figure: an estimate, its bootstrap 95 % interval, and the number of samples behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from unembed.errors import DataError
from unembed.extras import require
from unembed.metrics.base import Metric, Pair

LEVEL = 0.95
RESAMPLES = 2000
_BATCH_NUMBERS = 4_000_000  # numbers gathered at once while resampling: 32 MB


class Figure(BaseModel):
    """One number of a table. `low` and `high` are None where one sample gives no interval."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    low: float | None = Field(description="Lower end of the bootstrap 95 % interval.")
    high: float | None = Field(description="Upper end of the bootstrap 95 % interval.")
    n: int = Field(gt=0, description="Samples that it was estimated from.")

    def __repr__(self) -> str:
        return f"Figure(value={self.value}, low={self.low}, high={self.high}, n={self.n})"


def measure(metric: Metric, pairs: Sequence[Pair], *, seed: int = 0, resamples: int = RESAMPLES) -> Figure:
    """A metric of some pairs, with its interval."""
    if not pairs:
        raise DataError(f"There is nothing to measure: {metric.label} of no samples.")
    return estimate(metric, metric.statistics(pairs), seed=seed, resamples=resamples)


def estimate(
    metric: Metric, statistics: NDArray[np.float64], *, seed: int = 0, resamples: int = RESAMPLES
) -> Figure:
    """The figure from the samples' statistics [n, k].

    The interval is scipy's percentile bootstrap over samples: for a metric of a whole corpus (BLEU,
    pooled accuracy) a resample is a corpus of its own, drawn from the sentences' statistics. Where the
    metric is biased on resamples (BLEU of very few sentences), the percentiles can miss the estimate;
    they are then widened to include it.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    n = len(statistics)
    if n == 0:
        raise DataError(f"There is nothing to measure: {metric.label} of no samples.")
    value = metric.value(statistics.sum(axis=0), n)
    if n == 1:
        return Figure(value=value, low=None, high=None, n=1)
    return with_interval(value, _resampled(metric, statistics, seed, resamples), n)


def estimate_mean(
    metric: Metric, groups: Sequence[NDArray[np.float64]], *, seed: int = 0, resamples: int = RESAMPLES
) -> Figure:
    """The mean of a metric over groups of samples (kinds of text, languages), each counting alike.

    Resamples are drawn within each group: the groups are given, their samples are chance.
    """
    values = [metric.value(group.sum(axis=0), len(group)) for group in groups]
    value, n = float(np.mean(values)), sum(map(len, groups))
    if min(map(len, groups)) == 1:
        return Figure(value=value, low=None, high=None, n=n)
    # A stream for each: the same one would draw the same rows in groups of one size.
    drawn = [_resampled(metric, group, [seed, number], resamples) for number, group in enumerate(groups)]
    return with_interval(value, np.mean(drawn, axis=0), n)


def with_interval(value: float, distribution: NDArray[np.float64], n: int) -> Figure:
    """An estimate, and the interval of what its resamples gave."""
    low, high = np.quantile(distribution, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Figure(value=value, low=min(low, value), high=max(high, value), n=n)


def _resampled(
    metric: Metric, statistics: NDArray[np.float64], seed: int | Sequence[int], resamples: int
) -> NDArray[np.float64]:
    """The metric of corpora that are drawn from the samples with replacement.  # [resamples]"""
    n = len(statistics)
    stats = require("scipy.stats", extra="eval", purpose="A bootstrap interval")

    def statistic(rows: NDArray[np.int64], axis: int) -> NDArray[np.float64]:  # rows: [..., n]
        sums = statistics[rows].sum(axis=-2)  # [..., k]
        flat = sums.reshape(-1, sums.shape[-1])
        values = np.array([metric.value(row, n) for row in flat])
        shaped: NDArray[np.float64] = values.reshape(sums.shape[:-1])
        return shaped

    found: Any = stats.bootstrap(
        (np.arange(n),),
        statistic,
        n_resamples=resamples,
        batch=max(1, min(resamples, _BATCH_NUMBERS // statistics.size)),
        vectorized=True,
        axis=-1,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    distribution: NDArray[np.float64] = found.bootstrap_distribution
    return distribution
