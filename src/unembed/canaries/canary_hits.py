"""Which planted secrets came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unembed.canaries.make_canaries import Canary
from unembed.personal.came_back import Extent


@dataclass(frozen=True)
class CanaryHit:
    """What came back of one canary's secret, in the recovered text that has most of it."""

    canary: Canary
    extent: Extent
    share: float  # of the secret: 1 is all of it
    row: int | None  # which of the recovered texts; None where nothing came back


def canary_hits(canaries: Sequence[Canary], recovered_texts: Sequence[str]) -> list[CanaryHit]:
    """For each canary: does its secret stand in one of the recovered texts, whole or in part?"""
    raise NotImplementedError


def planted(canaries: Sequence[Canary], texts: Sequence[str]) -> list[int | None]:
    """For each canary, the first of the (original) texts that holds its secret; None: it is not there."""
    raise NotImplementedError
