"""Without the directions in which all vectors are alike, or differ most: all but the top."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles
from unembed.defences.method import Method, Parameters, lengths, with_lengths
from unembed.defences.truncation import principal_directions


class DominantDirectionsParameters(Parameters):
    components: int = Field(
        4, ge=0, description="Principal components to take out, after the mean; 0: nothing."
    )


class DominantDirections(Method):
    """`w - sum_i (w u_i) u_i` with `w = v - mean`, u the first principal components of the vectors of `fit`;
    stretched to the vector's former length.
    """

    info = DefenceInfo(
        name="all-but-the-top",
        title="Without dominant directions",
        strength="components",
        strengths=(1, 4, 16, 64, 128),
        secret=None,
        random=False,
        queries_too=True,
        needs_fit=True,
        source="Mu and Viswanath 2018 (ICLR), All-but-the-Top, algorithm 1",
    )
    parameters_type = DominantDirectionsParameters
    parameters: DominantDirectionsParameters

    def _learn(self, vectors: Floats, seed: int) -> None:
        mean = vectors.mean(axis=0, dtype=np.float64)
        count = min(self.parameters.components, vectors.shape[1] - 1)
        self.public["mean"] = mean
        self.public["directions"] = principal_directions(
            np.asarray(vectors - mean, np.float32), count
        )  # [D, k]

    def _transform(self, vectors: Floats) -> Floats | Doubles:
        if not self.parameters.components:
            return vectors
        centred = vectors - self.public["mean"]
        directions = self.public["directions"]
        return with_lengths(centred - (centred @ directions) @ directions.T, lengths(vectors))
