"""Texts that can be shown: personal data under blocks."""

from __future__ import annotations

from collections.abc import Sequence

from unembed.personal.entities import Entity

BLOCK = "█"


def blackout(text: str, entities: Sequence[Entity]) -> str:
    """The text with every letter and digit of its entities covered; spaces stay, so that it can be read.

    >>> blackout("Call Anna Berg.", [Entity(Kind.NAME, "Anna Berg", 5, 14)])
    'Call ████ ████.'
    """
    shown = list(text)
    for entity in entities:
        for position in range(max(0, entity.start), min(entity.end, len(shown))):
            if not shown[position].isspace():
                shown[position] = BLOCK
    return "".join(shown)
