"""Vectors for the tiny model of these tests."""

from __future__ import annotations

import numpy as np

DIMENSION = 16
# Windows of 32 rows, and little work for each.
OPTIONS = {"batch_size": 8, "steps": 1, "num_lengths": 1, "hypotheses": 1}


def unit_vectors(count: int) -> np.ndarray:
    vectors = np.random.default_rng(0).normal(size=(count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
