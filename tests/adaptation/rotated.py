"""Another encoder, a linear map away from the toy's: what an adapter can undo."""

from __future__ import annotations

import numpy as np

import toy

DIM, OTHER = 16, 24


class Rotated(toy.ToyEncoder):
    """The toy's vectors seen from another side, in more dimensions."""

    def __init__(self, dies_at: int | None = None) -> None:
        super().__init__(dimension=DIM)
        self._turn = np.linalg.qr(np.random.default_rng(5).normal(size=(OTHER, DIM)))[0].T.astype(np.float32)
        self.info = self.info.model_copy(update={"name": "rotated", "dimension": OTHER, "digest": "r" * 64})
        self.dies_at, self.seen = dies_at, 0

    def encode(self, texts, *, batch_tokens: int = 4096):
        if self.dies_at is not None and self.seen >= self.dies_at:
            raise KeyboardInterrupt
        self.seen += len(texts)
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = toy.ToyEncoder(dimension=DIM).encode([text])[0]
        return vectors @ self._turn
