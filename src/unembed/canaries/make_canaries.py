"""Sentences around random secrets, and how many bits it takes to guess each secret."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CanaryKind(str, Enum):
    """What the secret is."""

    CODE = "code"
    PIN = "pin"
    NAME = "name"
    PASSPHRASE = "passphrase"


@dataclass(frozen=True)
class Canary:
    """One sentence to plant. `bits` is log2 of how many secrets of its kind are equally likely."""

    id: str
    kind: CanaryKind
    text: str
    secret: str
    bits: float


def make_canaries(n: int, *, seed: int | None = None) -> list[Canary]:
    """`n` canaries with different secrets, the kinds in turn; without a seed, by the system's randomness."""
    raise NotImplementedError
