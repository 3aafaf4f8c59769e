"""Vectors in memory: numpy, torch or lists, one or many, as float32 windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.errors import DataError

Floats = NDArray[np.float32]


def is_one(vectors: Any) -> bool:
    """Whether this is a single vector: one dimension of numbers."""
    if hasattr(vectors, "ndim"):
        return bool(vectors.ndim == 1)
    return isinstance(vectors, (list, tuple)) and bool(vectors) and np.ndim(vectors[0]) == 0


def as_floats(vectors: Any) -> Floats:
    """Anything that is a vector or a table of vectors, as float32."""
    if hasattr(vectors, "detach"):  # a torch tensor, without importing torch here
        vectors = vectors.detach().cpu().float().numpy()
    elif isinstance(vectors, (list, tuple)) and len(vectors) and hasattr(vectors[0], "detach"):
        vectors = [as_floats(one) for one in vectors]
    try:
        array = np.asarray(vectors)
        if array.dtype == object or array.dtype.kind in "USO":
            raise ValueError(f"its elements are of type {array.dtype}")
        # A number beyond float32 becomes infinity here, and the check for finite numbers names it.
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    except (ValueError, TypeError) as error:
        raise DataError(f"These are not vectors of numbers of one dimension: {error}.") from error


def windows(vectors: Any, size: int) -> Iterator[Floats]:
    """`size` vectors at a time, in order, however they come: [n, D].

    An array is sliced, so that a memory-mapped one is never read as a whole; anything else is
    iterated over, and may yield vectors or tables of vectors.
    """
    if hasattr(vectors, "ndim"):
        if vectors.ndim != 2:
            raise DataError(
                f"Vectors must form a table [N, D], not an array of shape {tuple(vectors.shape)}."
            )
        for start in range(0, len(vectors), size):
            yield as_floats(vectors[start : start + size])
        return
    if not isinstance(vectors, Iterable):
        raise DataError(f"A {type(vectors).__name__} is not a list of vectors.")
    waiting: list[Floats] = []
    held = 0
    for item in vectors:
        block = as_floats(item)
        block = block[None] if block.ndim == 1 else block
        if block.ndim != 2:
            raise DataError(f"Each item must be a vector or a table of vectors, not of shape {block.shape}.")
        if waiting and block.shape[1] != waiting[0].shape[1]:
            raise DataError(f"Vectors of different dimensions: {waiting[0].shape[1]} and {block.shape[1]}.")
        waiting.append(block)
        held += len(block)
        while held >= size:
            whole = np.concatenate(waiting)
            yield whole[:size]
            waiting, held = [whole[size:]], held - size
    if held:
        yield np.concatenate(waiting)
