"""An encoder that counts what it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import toy


class CountingEncoder(toy.ToyEncoder):
    """Counts texts; the calls that a search has to pay for."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        self.texts += texts
        return super().encode(texts, batch_tokens=batch_tokens)
