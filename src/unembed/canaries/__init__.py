"""Canaries: sentences with secrets that cannot be guessed, to plant in a store and look for afterwards."""

from unembed.canaries.canary_file import read_canaries, write_canaries
from unembed.canaries.canary_hits import CanaryHit, canary_hits, planted
from unembed.canaries.make_canaries import Canary, CanaryKind, make_canaries

__all__ = [
    "Canary",
    "CanaryHit",
    "CanaryKind",
    "canary_hits",
    "make_canaries",
    "planted",
    "read_canaries",
    "write_canaries",
]
