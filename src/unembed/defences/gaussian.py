"""Gaussian noise in every number of a vector."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, normal_rows
from unembed.defences.method import Method, Parameters, lengths


class GaussianParameters(Parameters):
    sigma: float = Field(
        0.01,
        ge=0,
        allow_inf_nan=False,
        description="Standard deviation of the noise in each number, as a share of the vector's length; for "
        "vectors of length 1 the sigma of the literature.",
    )


class Gaussian(Method):
    """`v + sigma |v| n`, n standard normal. The length is left as it comes out."""

    info = DefenceInfo(
        name="gaussian",
        title="Gaussian noise",
        strength="sigma",
        strengths=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
        secret=None,
        random=True,
        queries_too=False,
        needs_fit=False,
        source="Morris et al. 2023, Text Embeddings Reveal (Almost) As Much As Text",
    )
    parameters_type = GaussianParameters
    parameters: GaussianParameters

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        sigma = self.parameters.sigma
        if not sigma:
            return np.zeros(vectors.shape)
        return sigma * lengths(vectors) * normal_rows(vectors, vectors.shape[1], seed, "gaussian")

    def _units(self) -> dict[str, float | int | str]:
        if self.fitted_dimension is None or self.mean_norm is None:
            return {}
        sigma = self.parameters.sigma
        return {
            "noise_per_dimension": sigma * self.mean_norm,
            "noise_relative_to_norm": sigma * self.fitted_dimension**0.5,
        }
