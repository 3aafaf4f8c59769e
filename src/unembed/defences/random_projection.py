"""A secret random projection to fewer dimensions."""

from __future__ import annotations

import numpy as np

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, normal_draw
from unembed.defences.method import Method
from unembed.defences.truncation import FewerDimensions


class RandomProjection(Method):
    """`v G / sqrt(k)`, G [D, k] of standard normal numbers: inner products stay in the mean. With nothing
    removed it still is a random matrix, not the identity. The length is left as it comes out.
    """

    info = DefenceInfo(
        name="random-projection",
        title="Random projection",
        strength="removed",
        strengths=(0.0, 0.25, 0.5, 0.75, 0.875),
        secret="the projection",
        random=False,
        queries_too=True,
        needs_fit=True,
        source="Johnson and Lindenstrauss 1984; Gaussian entries after Dasgupta and Gupta 2003",
    )
    parameters_type = FewerDimensions
    parameters: FewerDimensions

    def _learn(self, vectors: Floats, seed: int) -> None:
        kept = self.parameters.kept(vectors.shape[1])
        self.secret["projection"] = normal_draw((vectors.shape[1], kept), seed, "projection") / kept**0.5

    def _transform(self, vectors: Floats) -> Doubles:
        return np.asarray(vectors.astype(np.float64) @ self.secret["projection"])

    def dimension(self, dimension: int) -> int:
        return self.parameters.kept(dimension)
