"""What the vectors of known encoders look like: their mean, and where they spread much and hardly at all.

The directions without spread tell most. Networks that end in a layer norm have one in which no text moves
the vector, whatever it is about; another encoder's vectors have as much there as elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from unembed.storage import atomic_write
from unembed.vectors.arrays import Floats

SHIPPED = Path(__file__).parents[1] / "assets" / "encoder-statistics.safetensors"
WIDEST, NARROWEST = 64, 64  # directions that are kept; the variance of the others is one number
LEAST_VARIANCE = 5e-6  # rounding to eight bits makes as much
FITTED_SHARE = 2 / 3  # of the vectors give the directions, the others the variances along them


@dataclass(frozen=True)
class EncoderStatistics:
    """A normal distribution of one encoder's vectors, of length 1."""

    name: str  # what load_encoder() takes
    source: str  # its full name elsewhere
    mean: Floats  # [D]
    directions: Floats  # [k, D] orthonormal
    variances: Floats  # [k]
    rest: float  # the variance in every other direction
    fitted_on: int

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def explained(self) -> float:
        """The share of the variance that lies in the widest directions."""
        others = self.rest * (self.dimension - len(self.variances))
        return float(self.variances[:WIDEST].sum() / (self.variances.sum() + others))

    def covariance(self) -> NDArray[np.float64]:  # [D, D]
        directions = self.directions.astype(np.float64)
        along = (self.variances - self.rest)[:, None] * directions  # [k, D]
        return np.asarray(self.rest * np.eye(self.dimension) + directions.T @ along)


def fit_statistics(name: str, source: str, vectors: Floats, *, seed: int = 0) -> EncoderStatistics:
    """The statistics of an encoder's vectors [n, D].

    Directions are found on some vectors, and the variance along them is measured on others: of the same
    ones, the narrowest would look narrower than they are.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = unit[np.random.default_rng(seed).permutation(len(unit))].astype(np.float64)  # [n, D]
    found, measured = np.split(unit, [int(FITTED_SHARE * len(unit))])
    _, directions = np.linalg.eigh(np.cov(found.T))  # [D, D] the narrowest first
    mean = unit.mean(axis=0)
    variances = np.maximum(((measured - mean) @ directions).var(axis=0), LEAST_VARIANCE)[::-1]  # [D]
    directions = directions.T[::-1]  # [D, D] a direction a row, the widest first
    dimension = len(mean)
    middle = slice(WIDEST, max(WIDEST, dimension - NARROWEST))
    kept = np.r_[0 : min(WIDEST, dimension), middle.stop : dimension]
    return EncoderStatistics(
        name=name,
        source=source,
        mean=mean.astype(np.float32),
        directions=directions[kept].astype(np.float32),
        variances=variances[kept].astype(np.float32),
        rest=float(variances[middle].mean()) if dimension > WIDEST + NARROWEST else LEAST_VARIANCE,
        fitted_on=len(unit),
    )


def write_statistics(path: Path, statistics: Sequence[EncoderStatistics]) -> None:
    """One safetensors file, directions as float16."""
    tensors: dict[str, NDArray[np.generic]] = {}
    described = {}
    for one in statistics:
        tensors[f"{one.name}.mean"] = one.mean
        tensors[f"{one.name}.directions"] = one.directions.astype(np.float16)
        tensors[f"{one.name}.variances"] = one.variances
        described[one.name] = {"source": one.source, "rest": one.rest, "fitted_on": one.fitted_on}
    with atomic_write(path) as file:
        file.write(save(tensors, metadata={"encoders": json.dumps(described)}))


@cache
def read_statistics(path: Path = SHIPPED) -> tuple[EncoderStatistics, ...]:
    """The statistics of every encoder that unembed knows."""
    with safe_open(path, framework="numpy") as file:
        described = json.loads(file.metadata()["encoders"])
        return tuple(
            EncoderStatistics(
                name=name,
                source=own["source"],
                mean=file.get_tensor(f"{name}.mean"),
                directions=file.get_tensor(f"{name}.directions").astype(np.float32),
                variances=file.get_tensor(f"{name}.variances"),
                rest=own["rest"],
                fitted_on=own["fitted_on"],
            )
            for name, own in described.items()
        )
