"""Defences and vectors for the tests."""

from __future__ import annotations

import numpy as np

from unembed.defences import Defence, make_defence
from unembed.defences.base import Floats

DIMENSION = 24
# Cheap settings where the usual ones are not.
QUICK: dict[str, dict[str, float]] = {"learnt": {"steps": 5, "hidden": 16}}


def fresh(name: str, **parameters: float) -> Defence:
    return make_defence(name, **{**QUICK.get(name, {}), **parameters})


def some_vectors(count: int = 300, *, dimension: int = DIMENSION, seed: int = 0) -> Floats:
    """Neither of length 1 nor centred, and some directions larger than others."""
    random = np.random.default_rng(seed)
    scales = np.linspace(0.2, 2, dimension)
    return (random.normal(size=(count, dimension)) * scales + 0.3).astype(np.float32)
