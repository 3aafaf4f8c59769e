"""Train, validation or test: decided by a text's key alone.

A key is uniform over [0, 2^64). Test takes the bottom of that range and validation the top:

    0 ── test ──┬───────────── train ─────────────┬── validation ── 2^64

So a text falls on the same side in every run and every corpus, whatever the seed, the encoder or the
other texts; and a larger share takes texts from train only, never from the other held-out side.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)

_RANGE = 2**64


def split_labels(
    keys: NDArray[np.uint64], *, validation_share: float, test_share: float
) -> NDArray[np.uint8]:  # [N]
    """For each key, the index into `SPLITS` of the side on which it falls."""
    labels = np.zeros(len(keys), dtype=np.uint8)
    top = int(validation_share * _RANGE)
    bottom = int(test_share * _RANGE)
    if top:
        labels[keys >= np.uint64(_RANGE - top)] = SPLITS.index("validation")
    if bottom:
        labels[keys <= np.uint64(bottom - 1)] = SPLITS.index("test")
    return labels
