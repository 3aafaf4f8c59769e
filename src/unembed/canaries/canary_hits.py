"""Which planted secrets came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from unembed.canaries.make_canaries import Canary
from unembed.personal.came_back import Extent, normalise, stands_in, words

PART = 0.5  # of a secret in one text counts as a part; a word of a passphrase stands in many texts


@dataclass(frozen=True)
class CanaryHit:
    """What came back of one canary's secret, in the recovered text that has most of it."""

    canary: Canary
    extent: Extent
    share: float  # of the secret: 1 is all of it
    row: int | None  # which of the recovered texts; None where less than a part came back


def canary_hits(canaries: Sequence[Canary], recovered_texts: Sequence[str]) -> list[CanaryHit]:
    """For each canary: does its secret stand in one of the recovered texts, whole or in part?

    Case, accents, spaces and punctuation do not count. A part is at least half: of a secret's words, or a run
    of half its letters and digits.
    """
    found = [words(normalise(text)) for text in recovered_texts]
    return [_best(canary, found) for canary in canaries]


def planted(canaries: Sequence[Canary], texts: Sequence[str]) -> list[int | None]:
    """For each canary, the first of the (original) texts that holds its secret; None: it is not there."""
    return [
        next((row for row, text in enumerate(texts) if canary.secret in text), None) for canary in canaries
    ]


def _best(canary: Canary, found: Sequence[Sequence[str]]) -> CanaryHit:
    wanted = words(normalise(canary.secret))
    shares = [_share(wanted, text) for text in found]
    best = max(shares, default=0.0)
    if best < PART:
        return CanaryHit(canary, Extent.NONE, best, None)
    return CanaryHit(canary, Extent.WHOLE if best == 1 else Extent.PART, best, shares.index(best))


def _share(wanted: Sequence[str], text: Sequence[str]) -> float:
    """How much of a secret, given as its words, stands in a text."""
    whole, written = "".join(wanted), "".join(text)
    if not whole:
        return 0.0
    if stands_in(whole, text):
        return 1.0
    by_word = sum(len(word) for word in wanted if word in text) / len(whole)
    run = SequenceMatcher(None, whole, written, autojunk=False).find_longest_match()
    # What is not whole is less than 1, also where all its words are there in another order.
    return min(max(by_word, run.size / len(whole)), 0.99)
