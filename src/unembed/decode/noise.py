"""Random numbers that belong to a sequence, not to its row in a batch.

Each number is a hash of the sequence's seed, the step, the position and a channel. A sequence therefore
draws the same numbers alone, among a thousand others, and after its neighbours have finished.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# splitmix64's constants, as the signed integers that torch counts with.
_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX2 = 0x94D049BB133111EB - (1 << 64)
_BITS = 24  # what a float32 holds exactly


def mix(x: Tensor) -> Tensor:
    """splitmix64's finaliser on int64, of any shape: every input bit reaches every output bit."""
    x = (x ^ _shift(x, 30)) * _MIX1
    x = (x ^ _shift(x, 27)) * _MIX2
    return x ^ _shift(x, 31)


def combine(seeds: Tensor, *numbers: Tensor | int) -> Tensor:
    """Seeds that also depend on the numbers, in their order; shapes broadcast."""
    for number in numbers:
        seeds = mix(seeds + (torch.as_tensor(number, device=seeds.device) + 1) * _GAMMA)
    return seeds


def uniform(seeds: Tensor, length: int, step: int, channel: int = 0) -> Tensor:
    """One number in (0, 1) per position.  # [B, L]; seeds: [B]"""
    position = torch.arange(length, device=seeds.device)  # [L]
    bits = _shift(combine(seeds[:, None], step, channel, position), 64 - _BITS)  # [B, L]
    return (bits.float() + 0.5) / (1 << _BITS)


def vector_seeds(vectors: NDArray[np.float32], seed: int) -> Tensor:
    """One seed per vector, from its own numbers: a vector gives the same text in any batch.  # [B]"""
    salt = seed.to_bytes(16, "little", signed=True)
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8, key=salt).digest() for row in vectors]
    return (
        torch.frombuffer(bytearray(b"".join(digests)), dtype=torch.int64)
        if digests
        else torch.zeros(0).long()
    )


def _shift(x: Tensor, bits: int) -> Tensor:
    """A right shift that brings in zeros; torch's brings in the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
