"""`identify`: dimension, norms and statistics first; then, where there are texts, the encoders themselves."""

from __future__ import annotations

from collections.abc import Sequence

from unembed.identification.verdict import Identification
from unembed.vectors.arrays import Floats


def identify(
    vectors: Floats,  # [n, D]
    texts: Sequence[str | None] | None = None,
    *,
    encoders: Sequence[str] | None = None,
    tries: int = 32,
    seed: int = 0,
) -> Identification:
    """Which encoder made these vectors.

    `texts` are theirs, where the store has them (None for rows without). `encoders` are compared by
    embedding up to `tries` texts; by default all that are on this machine and have the dimension, no
    endpoint. Vectors that fit nothing known get the verdict `unknown`.
    """
    raise NotImplementedError
