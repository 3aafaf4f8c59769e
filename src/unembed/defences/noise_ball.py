"""Noise in a ball: a point drawn uniformly from a ball around the vector."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, normal_rows, uniform_rows
from unembed.defences.method import Method, Parameters, lengths


class NoiseBallParameters(Parameters):
    radius: float = Field(
        0.2, ge=0, allow_inf_nan=False, description="Radius of the ball, as a share of the vector's length."
    )


class NoiseBall(Method):
    """`v + radius |v| b`, b uniform in the unit ball. Never farther than the radius, unlike Gaussian noise;
    in many dimensions nearly always at it. The length is left as it comes out.
    """

    info = DefenceInfo(
        name="ball",
        title="Noise in a ball",
        strength="radius",
        strengths=(0.05, 0.1, 0.2, 0.4, 0.8, 1.6),
        secret=None,
        random=True,
        queries_too=False,
        needs_fit=False,
        source="The perturbation of Fuchsbauer et al. 2022 (SCN), without its scale and key",
    )
    parameters_type = NoiseBallParameters
    parameters: NoiseBallParameters

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        return self.parameters.radius * lengths(vectors) * unit_ball_rows(vectors, seed, "ball")

    def _units(self) -> dict[str, float | int | str]:
        return ball_units(self.parameters.radius, self.fitted_dimension, self.mean_norm)


def unit_ball_rows(vectors: Floats, seed: int, purpose: str) -> Doubles:
    """One point per row, uniform in the unit ball: a uniform direction, times u^(1/D).  # [N, D]"""
    dimension = vectors.shape[1]
    direction = unit_directions(vectors, seed, purpose)
    radius = uniform_rows(vectors, 1, seed, purpose + " radius") ** (1 / dimension)  # [N, 1]
    return np.asarray(direction * radius)


def unit_directions(vectors: Floats, seed: int, purpose: str) -> Doubles:
    """One direction per row, uniform on the sphere.  # [N, D]"""
    normal = normal_rows(vectors, vectors.shape[1], seed, purpose)
    return np.asarray(normal / lengths(normal))


def ball_units(radius: float, dimension: int | None, mean_norm: float | None) -> dict[str, float | int | str]:
    """Noise in a ball, in units that compare: the mean square of its length is D / (D + 2) of the radius'."""
    if dimension is None or mean_norm is None:
        return {}
    relative = radius * (dimension / (dimension + 2)) ** 0.5
    return {
        "noise_per_dimension": relative * mean_norm / dimension**0.5,
        "noise_relative_to_norm": relative,
    }
