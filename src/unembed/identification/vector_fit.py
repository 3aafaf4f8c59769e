"""How well vectors fit a known encoder's statistics: a likelihood ratio for each vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unembed.identification.encoder_statistics import EncoderStatistics
from unembed.vectors.arrays import Floats

FOREIGN = 1024  # random directions that show what a foreign vector scores
FOREIGN_QUANTILE = 0.99
# Random directions may score far less than a relative's vectors would: those are foreign from here on.
FARTHEST = -0.6
# Half-way between a foreign vector's score and that of no difference (0).
HALF_WAY = 0.5
# Where even foreign vectors score more than this, the statistics tell nothing apart.
TELLS = -0.05


@dataclass(frozen=True)
class VectorFit:
    """One encoder's distribution, cut to the first D of its numbers, with the score at which vectors fit."""

    name: str
    truncated_from: int | None  # the encoder's dimension where it is not D
    mean: NDArray[np.float64]  # [D]
    whiten: NDArray[np.float64]  # [D, D] whiten.T @ whiten is the inverse of the covariance
    log_volume: float
    foreign: float  # a vector that scores less is of something else; 99 % of random directions do

    @property
    def least(self) -> float:
        """A vector fits if it scores more."""
        return HALF_WAY * self.foreign

    @property
    def tells(self) -> bool:
        """Whether foreign vectors can be told from the encoder's at all."""
        return self.foreign < TELLS

    def scores(self, unit: Floats) -> NDArray[np.float64]:  # [n]
        """log p(vector | encoder) - log p(vector | any direction alike), per number of the vector."""
        dimension = unit.shape[1]
        white = (unit.astype(np.float64) - self.mean) @ self.whiten.T  # [n, D]
        anything = dimension * (1.0 - np.log(dimension))  # of a vector of length 1
        return np.asarray((anything - np.square(white).sum(axis=1) - self.log_volume) / (2 * dimension))


def vector_fit(statistics: EncoderStatistics, dimension: int) -> VectorFit | None:
    """The encoder's distribution of vectors with `dimension` numbers; None where it makes fewer."""
    if dimension > statistics.dimension:
        return None
    return _fit(statistics.name, statistics.dimension, dimension, _Key(statistics))


class _Key:
    """Statistics by name, because arrays cannot be hashed."""

    def __init__(self, statistics: EncoderStatistics) -> None:
        self.statistics = statistics

    def __hash__(self) -> int:
        return hash(self.statistics.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.statistics is self.statistics


@lru_cache(maxsize=64)
def _fit(name: str, full: int, dimension: int, key: _Key) -> VectorFit:
    statistics = key.statistics
    mean = statistics.mean[:dimension].astype(np.float64)
    covariance = statistics.covariance()[:dimension, :dimension]  # [D, D]
    # Cut vectors are scaled to length 1 again; on average by this much.
    scale = 1.0 if dimension == full else float(mean @ mean + np.trace(covariance))
    mean, covariance = mean / np.sqrt(scale), covariance / scale
    values, directions = np.linalg.eigh(covariance)
    whiten = directions.T / np.sqrt(values)[:, None]  # [D, D]
    cut, log_volume = full if dimension < full else None, float(np.log(values).sum())
    fit = VectorFit(name, cut, mean, whiten, log_volume, foreign=0.0)
    random = np.random.default_rng(0).normal(size=(FOREIGN, dimension))  # [n, D]
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    foreign = float(np.quantile(fit.scores(random.astype(np.float32)), FOREIGN_QUANTILE))
    return replace(fit, foreign=max(foreign, FARTHEST))
