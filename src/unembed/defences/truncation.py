"""Fewer dimensions: the first ones, as Matryoshka encoders allow."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles
from unembed.defences.method import Method, Parameters, lengths, with_lengths


class FewerDimensions(Parameters):
    removed: float = Field(0.5, ge=0, lt=1, description="Share of the dimensions that is removed.")
    dimensions: int | None = Field(
        None, ge=1, description="How many dimensions to keep, instead of a share to remove."
    )

    def kept(self, dimension: int) -> int:
        """How many of so many are kept; at least one."""
        wanted = self.dimensions if self.dimensions is not None else round(dimension * (1 - self.removed))
        return min(dimension, max(1, wanted))


class Truncation(Method):
    """The first k numbers, stretched to the vector's former length (so length 1 stays length 1)."""

    info = DefenceInfo(
        name="truncation",
        title="Truncation",
        strength="removed",
        strengths=(0.25, 0.5, 0.75, 0.875, 0.9375),
        secret=None,
        random=False,
        queries_too=True,
        needs_fit=False,
        source="Kusupati et al. 2022 (Matryoshka); sentence-transformers' truncate_dim",
    )
    parameters_type = FewerDimensions
    parameters: FewerDimensions

    def _transform(self, vectors: Floats) -> Floats | Doubles:
        kept = self.parameters.kept(vectors.shape[1])
        return vectors if kept == vectors.shape[1] else with_lengths(vectors[:, :kept], lengths(vectors))

    def dimension(self, dimension: int) -> int:
        return self.parameters.kept(dimension)


class PCA(Truncation):
    """The k directions in which the vectors of `fit` are longest, not centred, so that inner products change
    least; stretched to the vector's former length.
    """

    info = DefenceInfo(
        name="pca",
        title="Principal components",
        strength="removed",
        strengths=(0.25, 0.5, 0.75, 0.875, 0.9375),
        secret=None,
        random=False,
        queries_too=True,
        needs_fit=True,
        source="Principal component analysis without centring: Eckart and Young 1936",
    )

    def _learn(self, vectors: Floats, seed: int) -> None:
        self.public["directions"] = principal_directions(vectors, self.parameters.kept(vectors.shape[1]))

    def _transform(self, vectors: Floats) -> Floats | Doubles:
        if self.parameters.kept(vectors.shape[1]) == vectors.shape[1]:
            return vectors
        return with_lengths(vectors.astype(np.float64) @ self.public["directions"], lengths(vectors))


def principal_directions(vectors: Floats, count: int) -> Doubles:
    """The `count` orthogonal directions with the largest mean square, largest first.  # [D, count]"""
    table = vectors.astype(np.float64)
    _, directions = np.linalg.eigh(table.T @ table)  # ascending
    return np.ascontiguousarray(directions[:, ::-1][:, :count])
