"""A secret rotation."""

from __future__ import annotations

import numpy as np

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles, normal_draw
from unembed.defences.method import Method


class Rotation(Method):
    """`v Q`, Q orthogonal and uniform (Haar). All inner products and lengths stay."""

    info = DefenceInfo(
        name="rotation",
        title="Secret rotation",
        strength=None,
        strengths=(),
        secret="the rotation",
        random=False,
        queries_too=True,
        needs_fit=True,
        source="Mezzadri 2007, How to generate random matrices from the classical compact groups",
    )

    def _learn(self, vectors: Floats, seed: int) -> None:
        self.secret["rotation"] = haar_rotation(vectors.shape[1], seed)

    def _transform(self, vectors: Floats) -> Doubles:
        return np.asarray(vectors.astype(np.float64) @ self.secret["rotation"])


def haar_rotation(dimension: int, seed: int) -> Doubles:
    """QR of a normal matrix, each column's sign that of R's diagonal: without that, Q is not uniform."""
    q, r = np.linalg.qr(normal_draw((dimension, dimension), seed, "rotation"))
    return np.asarray(q * np.sign(np.diagonal(r)))
