"""Vectors that are packed into bytes, as Redis hashes and columns of SQLite keep them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unembed.errors import DataError, UsageError
from unembed.vectors.arrays import Floats

DTYPES = {"float32": "<f4", "float16": "<f2", "float64": "<f8", "int8": "i1", "uint8": "u1"}
_GUESSED = ("float32", "float16", "float64")  # bytes of whole numbers cannot be told from those of others
# Eight in ten of an embedding's numbers are within 4 bits of each other. Read as another type, bits of a
# mantissa are taken for an exponent, and it is 12 bits and more. The outermost do not count: an encoder may
# have a dimension that is next to nothing, as all-MiniLM-L6-v2 has (1e-33).
_MIDDLE, _MOST_SPREAD = (0.1, 0.9), 8.0


def guess_dtype(blobs: Sequence[bytes]) -> str | None:
    """The type in which these bytes are numbers of about one size; None: they are no vectors."""
    for dtype in _GUESSED:
        if any(not blob or len(blob) % np.dtype(DTYPES[dtype]).itemsize for blob in blobs):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            numbers = np.concatenate(
                [np.frombuffer(blob, DTYPES[dtype]).astype(np.float64) for blob in blobs]
            )
        sizes = np.abs(numbers[numbers != 0])
        if len(sizes) and np.isfinite(sizes).all():
            low, high = np.quantile(np.log2(sizes), _MIDDLE)
            if high - low < _MOST_SPREAD:
                return dtype
    return None


def unpack(blob: bytes, dtype: str, where: str) -> Floats:
    """The vector in these bytes.  # [D]"""
    size = np.dtype(DTYPES[dtype]).itemsize
    if not blob or len(blob) % size:
        raise DataError(f"{where} has {len(blob)} bytes, which are no vector of {dtype}.")
    return np.frombuffer(blob, DTYPES[dtype]).astype(np.float32)


def known_dtype(name: str) -> str:
    if name not in DTYPES:
        raise UsageError(f"There is no type '{name}'.", hint=f"Types: {', '.join(DTYPES)}.")
    return name
