"""Cosine: how near the recovered text's vector is to the target's, by the encoder that made it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.errors import DataError
from unembed.metrics.base import MeanMetric, Pair, column


def cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:  # [n]
    """The cosine of each row of `a` with the same row of `b`; 0 where one of them is zero."""
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    norms = np.linalg.norm(a64, axis=1) * np.linalg.norm(b64, axis=1)  # [n]
    dots = (a64 * b64).sum(axis=1)  # [n]
    out: NDArray[np.float64] = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return out.clip(-1.0, 1.0)


class Cosine(MeanMetric):
    """The mean cosine between `encoder(recovered)` and the vector to invert, without noise."""

    name = "cosine"
    label = "Cosine"
    percent = False
    bounds = (-1.0, 1.0)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def signature(self, languages: Sequence[str]) -> str:
        info = self._encoder.info
        return f"under {info.name}, weights {info.digest[:12]}"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        if not pairs:
            return column([])
        targets = []
        for pair in pairs:
            if pair.target_vector is None:
                raise DataError("The cosine needs the target's vector.")
            targets.append(pair.target_vector)
        recovered = self._encoder.encode([pair.recovered for pair in pairs])  # [n, D]
        return column(cosines(np.stack(targets), recovered).tolist())
