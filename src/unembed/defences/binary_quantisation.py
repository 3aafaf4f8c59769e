"""One bit a number: its sign."""

from __future__ import annotations

import numpy as np

from unembed.defences.base import DefenceInfo, Floats
from unembed.defences.method import Method


class BinaryQuantisation(Method):
    """1 where a number is above 0; `binary` and `ubinary` are the same bits. Decoded to +1 and -1, all
    divided by sqrt(D), so that the decoded vector has length 1. Queries stay as they are, as for rescoring.
    """

    info = DefenceInfo(
        name="binary",
        title="Binary codes",
        strength=None,
        strengths=(),
        secret=None,
        random=False,
        queries_too=False,
        needs_fit=False,
        source="sentence-transformers' quantize_embeddings(precision='ubinary')",
    )

    def _transform(self, vectors: Floats) -> Floats:
        return np.asarray(np.where(vectors > 0, 1, -1) / vectors.shape[1] ** 0.5, np.float32)

    def bytes_per_vector(self, dimension: int) -> float:
        return float(-(-dimension // 8))
