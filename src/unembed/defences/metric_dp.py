"""Noise of metric differential privacy: vectors that are far apart may be told apart, near ones may not."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, uniform_rows
from unembed.defences.method import Method, Parameters
from unembed.defences.noise_ball import unit_directions


class MetricDPParameters(Parameters):
    eta: float = Field(
        1000.0,
        gt=0,
        description="Outputs of vectors at distance d differ in likelihood by at most exp(eta d); inf: none.",
    )


class MetricDP(Method):
    """`v + z` with density `exp(-eta |z|)`: a uniform direction, and a length from Gamma(D, 1 / eta). In the
    units of the vectors, whatever their length, as the guarantee demands. The length is left as it comes out.
    """

    info = DefenceInfo(
        name="metric-dp",
        title="Metric-private noise",
        strength="eta",
        strengths=(10_000, 3_000, 1_000, 300, 100),
        secret=None,
        random=True,
        queries_too=False,
        needs_fit=False,
        source="Feyisetan et al. 2020 (WSDM), algorithm 1; Chatzikokolakis et al. 2013 for the notion",
    )
    parameters_type = MetricDPParameters
    parameters: MetricDPParameters

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        dimension = vectors.shape[1]
        if math.isinf(self.parameters.eta):
            return np.zeros(vectors.shape)
        # A sum of D exponential numbers is Gamma(D, 1).
        gamma = -np.log(uniform_rows(vectors, dimension, seed, "metric-dp length")).sum(axis=1, keepdims=True)
        return np.asarray(unit_directions(vectors, seed, "metric-dp") * gamma / self.parameters.eta)

    def _units(self) -> dict[str, float | int | str]:
        if self.fitted_dimension is None or not self.mean_norm:
            return {}
        size = self.fitted_dimension
        length = (size * (size + 1)) ** 0.5 / self.parameters.eta  # root mean square of Gamma(D, 1 / eta)
        return {"noise_per_dimension": length / size**0.5, "noise_relative_to_norm": length / self.mean_norm}
