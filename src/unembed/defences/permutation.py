"""A secret order of the dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import uniform_draw
from unembed.defences.method import Method


class Permutation(Method):
    """The numbers of every vector in one secret order. All inner products and lengths stay."""

    info = DefenceInfo(
        name="permutation",
        title="Secret permutation",
        strength=None,
        strengths=(),
        secret="the permutation",
        random=False,
        queries_too=True,
        needs_fit=True,
        source="The shuffling defence that Chen et al. 2025 (ALGEN) test",
    )

    def _learn(self, vectors: Floats, seed: int) -> None:
        self.secret["order"] = drawn_order(vectors.shape[1], seed, "permutation")

    def _transform(self, vectors: Floats) -> Floats:
        return np.asarray(vectors[:, self.secret["order"]])


def drawn_order(dimension: int, seed: int, purpose: str) -> NDArray[np.int64]:
    """A permutation of so many dimensions: the order of as many random numbers."""
    return np.asarray(uniform_draw((1, dimension), seed, purpose)[0].argsort(), np.int64)
