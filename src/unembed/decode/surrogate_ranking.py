"""Which of several texts a vector stands for, by a surrogate of its encoder: no call of the encoder.

    value(text) = cosine(surrogate(text), e) + SCORE_WEIGHT score(text)

The denoiser says how likely a text is given the vector, word by word; the surrogate reads the whole text and
says where its vector would lie. What one gets wrong, the other often knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder

SCORE_WEIGHT = 0.005  # what a unit of the denoiser's score is worth in cosine; benchmarks/frontier.py


def surrogate_cosines(surrogate: Encoder, texts: Sequence[str], vectors: NDArray[np.float32]) -> list[float]:
    """The cosine of each text's vector, by the surrogate, to the vector [n, D] that it is to stand for."""
    distinct = list(dict.fromkeys(texts))
    found = surrogate.encode(distinct)  # [m, D]
    rows = {text: row for row, text in enumerate(distinct)}
    mine = found[[rows[text] for text in texts]]  # [n, D]
    norms = np.linalg.norm(mine, axis=1) * np.linalg.norm(vectors, axis=1)  # [n]
    return ((mine * vectors).sum(axis=1) / np.maximum(norms, 1e-12)).tolist()  # type: ignore[no-any-return]
