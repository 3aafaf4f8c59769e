"""How the numbers of vectors were rounded, and whether the vectors have length 1."""

from __future__ import annotations

import numpy as np

from unembed.vectors.arrays import Floats

UNIT = 1e-3  # a length that differs from 1 by less counts as 1
_INT8 = 127


def rounding(vectors: Floats) -> str | None:
    """The precision of the vectors [n, D]: "binary", "int8", "float16", "bfloat16"; None: float32.

    Numbers in int8 are found as such, and also after they were scaled back to fractions, by the vector.
    """
    if not vectors.size:
        return None
    values = np.unique(vectors[:256])
    if len(values) <= 2:
        return "binary"
    if np.all(values == np.round(values)) and np.abs(values).max() <= 128:
        return "int8"
    if _on_a_grid(vectors[:256]):
        return "int8"
    # Before float16, which holds such short numbers as well.
    if not np.any(np.ascontiguousarray(vectors).view(np.uint32) & 0xFFFF):
        return "bfloat16"
    if np.array_equal(vectors, vectors.astype(np.float16).astype(np.float32)):
        return "float16"
    return None


def _on_a_grid(vectors: Floats) -> bool:
    """Whether every vector's numbers are multiples of 1/127 of its largest, or all of 1/127."""
    for step in (np.abs(vectors).max(axis=1, keepdims=True) / _INT8, np.float32(1 / _INT8)):
        multiples = vectors / np.where(step > 0, step, 1)
        if np.abs(multiples - np.round(multiples)).max() < 1e-3:
            return True
    return False


def lengths(vectors: Floats) -> Floats:  # [n]
    """The vectors' lengths."""
    norms: Floats = np.linalg.norm(vectors.astype(np.float64), axis=1).astype(np.float32)
    return norms


def all_unit(norms: Floats) -> bool:
    """Whether the vectors were scaled to length 1: nearly all, because a zero vector has none."""
    return bool(np.mean(np.abs(norms - 1) < UNIT) > 0.98) if len(norms) else False
