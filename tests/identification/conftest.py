"""Real vectors: the bundled encoder's, of varied sentences."""

from __future__ import annotations

import numpy as np
import pytest
from varied import SENTENCES

from unembed.encoders import load_encoder
from unembed.encoders.base import Encoder


@pytest.fixture(scope="session")
def minilm() -> Encoder:
    return load_encoder("minilm", device="cpu")


@pytest.fixture(scope="session")
def vectors(minilm: Encoder) -> np.ndarray:  # [48, 384]
    return minilm.encode(SENTENCES)


@pytest.fixture(scope="session")
def rotated(vectors: np.ndarray) -> np.ndarray:
    """Same lengths, same angles, another space."""
    dimension = vectors.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(dimension, dimension)))[0]
    return (vectors @ rotation).astype(np.float32)
