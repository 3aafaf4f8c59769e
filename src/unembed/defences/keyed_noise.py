"""Random numbers from a key: SHAKE-256 of the key, the purpose and a row's own numbers.

A row draws the same noise alone, in any batch and on any day, so nobody can average it away by asking twice;
and without the key the stream says nothing about itself, which a simulation's generator does not promise.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from unembed.defences.base import Floats

Doubles = NDArray[np.float64]
KEY_BYTES = 32
_BITS = 53  # what a float64 holds exactly


def key_bytes(seed: int) -> bytes:
    """The seed as a key: any integer, large ones for secrets."""
    return hashlib.shake_256(str(seed).encode()).digest(KEY_BYTES)


def uniform_rows(vectors: Floats, count: int, seed: int, purpose: str) -> Doubles:
    """`count` numbers in (0, 1) per row, from the row's own numbers.  # [N, count]"""
    key = key_bytes(seed) + purpose.encode() + b"\0"
    rows = np.ascontiguousarray(vectors + np.float32(0), "<f4")  # -0.0 becomes 0.0: equal rows, equal noise
    return _uniform([key + row.tobytes() for row in rows], count)


def normal_rows(vectors: Floats, count: int, seed: int, purpose: str) -> Doubles:
    """`count` standard normal numbers per row, from the row's own numbers.  # [N, count]"""
    return _normal(uniform_rows(vectors, count + count % 2, seed, purpose))[:, :count]


def uniform_draw(shape: tuple[int, int], seed: int, purpose: str) -> Doubles:
    """Numbers in (0, 1) that depend on the seed and the purpose alone."""
    key = key_bytes(seed) + purpose.encode() + b"\0"
    return _uniform([key + row.to_bytes(8, "little") for row in range(shape[0])], shape[1])


def normal_draw(shape: tuple[int, int], seed: int, purpose: str) -> Doubles:
    """Standard normal numbers that depend on the seed and the purpose alone."""
    rows, columns = shape
    return _normal(uniform_draw((rows, columns + columns % 2), seed, purpose))[:, :columns]


def _uniform(keys: list[bytes], count: int) -> Doubles:
    stream = b"".join(hashlib.shake_256(key).digest(8 * count) for key in keys)
    bits = np.frombuffer(stream, "<u8").reshape(len(keys), count) >> np.uint64(64 - _BITS)
    return np.asarray((bits.astype(np.float64) + 0.5) / (1 << _BITS))


def _normal(uniform: Doubles) -> Doubles:
    """Box and Muller 1958: two uniform numbers make two normal ones."""
    half = uniform.shape[1] // 2
    radius = np.sqrt(-2 * np.log(uniform[:, :half]))
    angle = 2 * np.pi * uniform[:, half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
