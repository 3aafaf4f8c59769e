"""Each vector mixed with its nearest neighbours in the collection."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles
from unembed.defences.method import Method, Parameters, lengths, with_lengths

_ROWS = 512  # that are compared with the collection at once
_SAME = 1 - 1e-6  # a cosine above it is the vector itself


class NeighbourMixingParameters(Parameters):
    weight: float = Field(0.5, ge=0, le=1, description="Weight of the neighbours' mean; 0: the vector alone.")
    neighbours: int = Field(5, ge=1, le=1000, description="How many neighbours are mixed in.")


class NeighbourMixing(Method):
    """`(1 - weight) v + weight mean(neighbours)`, by cosine among the vectors of `fit`, the vector itself
    left out; stretched to the vector's former length. The saved defence holds those vectors, so they are
    kept where secrets are.
    """

    info = DefenceInfo(
        name="mixing",
        title="Mixing with neighbours",
        strength="weight",
        strengths=(0.25, 0.5, 0.75, 0.9, 1.0),
        secret=None,
        random=False,
        queries_too=False,
        needs_fit=True,
        source="Microaggregation (Domingo-Ferrer and Mateo-Sanz 2002), each vector with a group of its own",
    )
    parameters_type = NeighbourMixingParameters
    parameters: NeighbourMixingParameters

    def _learn(self, vectors: Floats, seed: int) -> None:
        self.secret["collection"] = np.unique(vectors, axis=0)

    def _transform(self, vectors: Floats) -> Floats | Doubles:
        weight = self.parameters.weight
        if not weight:
            return vectors
        out = np.empty(vectors.shape)
        for start in range(0, len(vectors), _ROWS):
            some = vectors[start : start + _ROWS].astype(np.float64)
            mixed = (1 - weight) * some + weight * self._neighbours_mean(some)
            out[start : start + _ROWS] = with_lengths(mixed, lengths(some))
        return out

    def _neighbours_mean(self, some: Doubles) -> Doubles:
        collection = self.secret["collection"]
        unit = with_lengths(collection, np.ones((len(collection), 1)))
        cosines = with_lengths(some, np.ones((len(some), 1))) @ unit.T  # [n, N]
        cosines[cosines > _SAME] = -np.inf
        count = min(self.parameters.neighbours, len(collection))
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]  # [n, k]
        # Where a small collection has too few others, the vector stands in for the missing ones.
        there = np.isfinite(np.take_along_axis(cosines, nearest, axis=1))[..., None]  # [n, k, 1]
        return np.asarray(np.where(there, collection[nearest], some[:, None]).mean(axis=1))
