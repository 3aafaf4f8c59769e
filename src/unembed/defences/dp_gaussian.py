"""Gaussian noise with a guarantee: (epsilon, delta) differential privacy of each vector, clipped first."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import Self

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, normal_rows
from unembed.defences.method import Method, Parameters, lengths

_LARGE = 25.0  # beyond it exp(x^2) overflows before erfc(x) can be multiplied with it


class DPGaussianParameters(Parameters):
    epsilon: float = Field(
        1000.0,
        gt=0,
        description="No output is more than exp(epsilon) times likelier for one vector than for another; "
        "inf: no noise.",
    )
    delta: float = Field(1e-5, gt=0, lt=1, description="Probability with which the guarantee may fail.")
    clip: float = Field(
        1.0, gt=0, allow_inf_nan=False, description="Longer vectors are shortened to this length."
    )
    mechanism: Literal["analytic", "classical"] = Field(
        "analytic",
        description="How sigma follows from epsilon: exactly, or by the bound for epsilon below 1.",
    )

    @model_validator(mode="after")
    def _classical_is_for_small_epsilon(self) -> Self:
        if self.mechanism == "classical" and self.epsilon >= 1:
            raise ValueError("the classical mechanism is proved for epsilon below 1 only; take analytic")
        return self


class DPGaussian(Method):
    """`clip(v) + sigma n`, n standard normal. Local privacy: any vector may take the place of any other, so
    the sensitivity is the diameter of the ball, twice the clipping length. The length is left as it comes
    out.
    """

    info = DefenceInfo(
        name="dp-gaussian",
        title="Gaussian noise, (epsilon, delta)",
        strength="epsilon",
        strengths=(100_000, 30_000, 10_000, 3_000, 1_000, 100),
        secret=None,
        random=True,
        queries_too=False,
        needs_fit=False,
        source="Balle and Wang 2018, Improving the Gaussian Mechanism for Differential Privacy, algorithm 1; "
        "classical: Dwork and Roth 2014, theorem A.1",
    )
    parameters_type = DPGaussianParameters
    parameters: DPGaussianParameters

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in each number."""
        chosen = self.parameters
        calibrate = analytic_sigma if chosen.mechanism == "analytic" else classical_sigma
        return calibrate(chosen.epsilon, chosen.delta, sensitivity=2 * chosen.clip)

    def _transform(self, vectors: Floats) -> Floats:
        have = lengths(vectors)
        factor = np.minimum(1.0, self.parameters.clip / np.where(have > 0, have, 1))
        # A vector of length 1 that rounding left at 1.0000001 is not touched: no noise is the identity.
        factor[factor > 1 - 1e-6] = 1
        return np.asarray(vectors * factor, np.float32)

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        return self.sigma * normal_rows(vectors, vectors.shape[1], seed, "dp-gaussian")

    def _units(self) -> dict[str, float | int | str]:
        found: dict[str, float | int | str] = {"noise_per_dimension": self.sigma}
        if self.fitted_dimension is not None and self.mean_norm:
            held = min(self.mean_norm, self.parameters.clip)
            found["noise_relative_to_norm"] = self.sigma * self.fitted_dimension**0.5 / held
        return found


def classical_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """`sensitivity sqrt(2 ln(1.25 / delta)) / epsilon`: Dwork and Roth 2014, theorem A.1, for epsilon < 1."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def analytic_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The smallest sigma whose `privacy_loss_delta` is at most delta; found by bisection."""
    if math.isinf(epsilon):
        return 0.0
    low, high = 0.0, sensitivity
    while privacy_loss_delta(high, epsilon, sensitivity) > delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if privacy_loss_delta(middle, epsilon, sensitivity) > delta:
            low = middle
        else:
            high = middle
    return high


def privacy_loss_delta(sigma: float, epsilon: float, sensitivity: float) -> float:
    """Balle and Wang 2018, theorem 8: the least delta for which noise sigma is (epsilon, delta) private.

    `Phi(a - b) - exp(epsilon) Phi(-a - b)` with `a = sensitivity / 2 sigma` and `b = epsilon sigma /
    sensitivity`. As `(a + b)^2 = (a - b)^2 + 2 epsilon`, the second term is `exp(-(a - b)^2 / 2) erfcx((a +
    b) / sqrt 2) / 2`, which overflows for no epsilon.
    """
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    first = 0.5 * math.erfc((b - a) / math.sqrt(2))
    return first - 0.5 * math.exp(-((a - b) ** 2) / 2) * _erfcx((a + b) / math.sqrt(2))


def _erfcx(x: float) -> float:
    """`exp(x^2) erfc(x)` for x >= 0; its asymptotic series where x is large."""
    if x < _LARGE:
        return math.exp(x * x) * math.erfc(x)
    y = 1 / (2 * x * x)
    return (1 - y * (1 - 3 * y * (1 - 5 * y))) / (x * math.sqrt(math.pi))
