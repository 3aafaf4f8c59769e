"""One byte a number: int8 codes between each dimension's smallest and largest value."""

from __future__ import annotations

import numpy as np

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.keyed_noise import Doubles
from unembed.defences.method import Method

_STEPS = 255


class ScalarQuantisation(Method):
    """`floor((v - low) / step)` with `step = (high - low) / 255`, ranges per dimension from the vectors of
    `fit`; decoded to the middle of each step. Numbers outside of the range are cut to it.
    """

    info = DefenceInfo(
        name="int8",
        title="int8 codes",
        strength=None,
        strengths=(),
        secret=None,
        random=False,
        queries_too=False,
        needs_fit=True,
        source="sentence-transformers' quantize_embeddings(precision='int8')",
    )

    def _learn(self, vectors: Floats, seed: int) -> None:
        self.public["ranges"] = np.stack([vectors.min(axis=0), vectors.max(axis=0)])  # [2, D]

    def _transform(self, vectors: Floats) -> Doubles:
        low = self.public["ranges"][0].astype(np.float64)
        step = (self.public["ranges"][1] - low) / _STEPS
        return np.asarray(low + (self._codes(vectors) + np.where(step == 0, 0, 128.5)) * step)

    def _codes(self, vectors: Floats) -> Floats:
        """What the store holds: int8, -128 to 127."""
        low, high = self.public["ranges"]
        step = (high - low) / np.float32(_STEPS)
        step = np.where(step == 0, np.float32(1), step)
        return np.asarray(np.clip(np.floor((vectors - low) / step), 0, _STEPS) - 128, np.float32)

    def bytes_per_vector(self, dimension: int) -> float:
        return float(dimension)
