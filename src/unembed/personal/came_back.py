"""Which personal data of an original text stand in the text that was recovered from its vector.

Recovered texts are lower case, without accents, and have spaces where they like. So a number, an id or an
address of the net counts by its letters and digits alone; a name, a place or an organisation by its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from unembed.personal.entities import Entity, Kind

# Read word by word: some of the words may come back without the others.
WORDED = frozenset({Kind.NAME, Kind.LOCATION, Kind.ORGANISATION})
# Words that say nothing about whose name it is.
# fmt: off
PARTICLES = frozenset({
    "a", "al", "an", "and", "at", "bin", "by", "da", "das", "de", "del", "den", "der", "di", "do",
    "dos", "dr", "du", "el", "for", "gmbh", "in", "inc", "la", "le", "les", "llc", "ltd", "miss", "mr",
    "mrs", "ms", "of", "on", "or", "prof", "st", "the", "to", "van", "vd", "von", "y",
})
# fmt: on
_WORD = re.compile(r"[^\W_]+")
_DECIMAL = re.compile(r"(?<=\d) ?\. ?(?=\d{1,2}(?!\d))")
_POINT = "ᐧ"  # a letter to `_WORD`: 1.50 is not 150


class Extent(str, Enum):
    """How much of an entity came back."""

    WHOLE = "whole"
    PART = "part"  # some words of a name, a place or an organisation
    NONE = "none"


@dataclass(frozen=True)
class Recovered:
    """One entity of the original, and what of it the recovered text has."""

    entity: Entity
    extent: Extent
    words: tuple[str, ...]  # the words of it that came back, normalised


def recovered(entities: Sequence[Entity], recovered_text: str) -> list[Recovered]:
    """For each entity of an original text: does it stand in the recovered one?

    >>> [found.extent.value for found in recovered([Entity(Kind.NAME, "Anna Berg", 0, 9)], "call anna")]
    ['part']
    """
    plain = normalise(recovered_text)
    return [_look_up(entity, plain) for entity in entities]


def normalise(text: str) -> str:
    """Case folded, accents dropped: as an uncased encoder reads it."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in folded if not unicodedata.combining(letter))


def words(text: str) -> list[str]:
    """The runs of letters and digits of a normalised text."""
    return _WORD.findall(text)


def stands_in(wanted: str, found: Sequence[str]) -> bool:
    """Whether some neighbouring words, written as one, are `wanted`: never a piece out of a longer word."""
    for start in range(len(found)):
        joined = ""
        for word in found[start:]:
            joined += word
            if joined == wanted:
                return True
            if not wanted.startswith(joined):
                break
    return False


def _look_up(entity: Entity, plain: str) -> Recovered:
    own = normalise(entity.text)
    if entity.kind is Kind.NUMBER:
        own, plain = _DECIMAL.sub(_POINT, own), _DECIMAL.sub(_POINT, plain)
    wanted, there = words(own), words(plain)
    if not wanted:
        return Recovered(entity, Extent.NONE, ())
    if stands_in("".join(wanted), there):
        return Recovered(entity, Extent.WHOLE, tuple(wanted))
    if entity.kind not in WORDED:
        return Recovered(entity, Extent.NONE, ())
    # "Berg, Anna" is Anna Berg: the order of the words does not matter.
    telling = [word for word in wanted if word not in PARTICLES and len(word) > 1] or wanted
    back = tuple(word for word in telling if word in there)
    extent = Extent.WHOLE if len(back) == len(telling) else Extent.PART if back else Extent.NONE
    return Recovered(entity, extent, back)
