"""Scale, shuffle and perturb: what Cloaked AI publishes about its encryption of vectors."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, uniform_draw
from unembed.defences.method import Method, Parameters
from unembed.defences.noise_ball import ball_units, unit_ball_rows
from unembed.defences.permutation import drawn_order

# Secret factors are drawn between these. The publications leave the range open; by cosine it has no effect.
_SCALES = (1.0, 100.0)


class ScaleAndPerturbParameters(Parameters):
    approximation: float = Field(
        1.0,
        ge=0,
        allow_inf_nan=False,
        description="Approximation factor, beta: noise in a ball of radius beta / 4 for vectors of length 1.",
    )


class ScaleAndPerturb(Method):
    """`shuffle(s v + b)`: a secret scale s, noise uniform in a ball of radius `s beta / 4`, a secret order
    of the dimensions. Queries go through all of it, noise too, as documents do. The radius does not depend
    on the vector's length, and the length is left as it comes out.
    """

    info = DefenceInfo(
        name="cloaked",
        title="Scale, shuffle, perturb (Cloaked AI)",
        strength="approximation",
        strengths=(0.0, 0.5, 1.0, 1.5, 2.0, 4.0),
        secret="the order of the dimensions, the scale, the key of the noise",
        random=True,
        queries_too=True,
        needs_fit=True,
        source="Fuchsbauer et al. 2022 (SCN; eprint 2021/1666), Scale-And-Perturb with shuffling, which "
        "IronCore Labs' documentation of Cloaked AI names as its technique",
    )
    parameters_type = ScaleAndPerturbParameters
    parameters: ScaleAndPerturbParameters

    def _learn(self, vectors: Floats, seed: int) -> None:
        low, high = _SCALES
        self.secret["scale"] = low + (high - low) * uniform_draw((1, 1), seed, "scale")[0]
        self.secret["order"] = drawn_order(vectors.shape[1], seed, "shuffle")

    def query(self, vectors: Floats) -> Floats:
        """A query draws noise of its own: an equal document is near it, and never the same."""
        vectors = self._checked(vectors)
        return np.asarray(
            self._transform(vectors) + self._perturb(vectors, self.seed or 0, "query"), np.float32
        )

    def _transform(self, vectors: Floats) -> Doubles:
        return np.asarray(self.secret["scale"] * vectors[:, self.secret["order"]].astype(np.float64))

    def _noise(self, vectors: Floats, seed: int) -> Doubles:
        return self._perturb(vectors, seed, "cloaked")

    def _perturb(self, vectors: Floats, seed: int, purpose: str) -> Doubles:
        radius = float(self.secret["scale"][0]) * self.parameters.approximation / 4
        return radius * unit_ball_rows(vectors, seed, purpose)

    def _units(self) -> dict[str, float | int | str]:
        if not self.mean_norm:
            return {}
        return ball_units(
            self.parameters.approximation / 4 / self.mean_norm, self.fitted_dimension, self.mean_norm
        )
