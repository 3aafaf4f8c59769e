"""Merging: where several edits of one text came nearer, each elsewhere in it, make them all at once.

A long text lacks many words, and an edit mends one. How near each edit alone came is known, so the merged
texts take the nearest first: the best two, the best three, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unembed.search.edits import Entries

MERGED = "merge"  # `made_by` of these texts


class Change(NamedTuple):
    """From one text to another: `put` replaces text[first:end]."""

    first: int
    end: int
    put: Entries

    def meets(self, other: Change) -> bool:
        """Whether both change the same words, or insert at the same point."""
        if self.first == self.end or other.first == other.end:
            return self.first <= other.end and other.first <= self.end
        return self.first < other.end and other.first < self.end


def change(text: Entries, edited: Entries) -> Change:
    """The shortest stretch that tells two texts apart."""
    shorter = min(len(text), len(edited))
    before = next((i for i in range(shorter) if text[i] != edited[i]), shorter)
    after = 0
    while after < shorter - before and text[-1 - after] == edited[-1 - after]:
        after += 1
    return Change(before, len(text) - after, edited[before : len(edited) - after])


def merges(text: Entries, edited: Sequence[Entries]) -> list[Entries]:
    """Of a text's edits, best first: the best two at once, three, and so on, as far as they do not meet."""
    out: list[Entries] = []
    made: list[Change] = []
    for one in edited:
        new = change(text, one)
        if any(new.meets(other) for other in made):
            continue
        made.append(new)
        if len(made) > 1:
            out.append(_apply(text, made))
    return out


def pairs(text: Entries, edited: Sequence[Entries]) -> list[Entries]:
    """Every two of a text's edits at once that do not meet."""
    changes = [change(text, one) for one in edited]
    return [
        _apply(text, (one, other))
        for index, one in enumerate(changes)
        for other in changes[index + 1 :]
        if not one.meets(other)
    ]


def _apply(text: Entries, changes: Sequence[Change]) -> Entries:
    """All of them, from the last to the first, so that positions stay valid."""
    for first, end, put in sorted(changes, reverse=True):
        text = (*text[:first], *put, *text[end:])
    return text
