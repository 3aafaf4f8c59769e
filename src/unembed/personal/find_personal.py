"""Personal data in texts, found by presidio-analyzer with spaCy's small English pipeline, offline."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unembed.personal.entities import Entity, Kind
from unembed.personal.recognisers import KINDS, analyser
from unembed.progress import Progress, SilentProgress

BATCH = 64
# What a checksum or a pattern says goes before what a language model thinks; a bare number comes last.
_FIRST = (
    ("EMAIL_ADDRESS", "IBAN_CODE", "CREDIT_CARD", "IP_ADDRESS"),
    ("US_SSN", "US_ITIN", "US_PASSPORT", "US_DRIVER_LICENSE", "UK_NINO", "URL"),
    ("PHONE_NUMBER", "STREET_ADDRESS"),
    ("DATE_TIME", "LOCATION", "PERSON", "ORGANIZATION"),
    ("NUMBER",),
)
_RANK = {entity: rank for rank, entities in enumerate(_FIRST) for entity in entities}
# A month, a day of the week, a year, 12:30 or 3/4: "AB12-99" is no date, and "every week" no personal one.
_DATED = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tues|wednes|thurs|fri|satur|sun)[a-z]*\b"
    r"|\b(?:1[89]|20)\d\d\b|(?<!\w)\d{1,2}[:/.-]\d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2} ?[ap]\.?m\b",
    re.IGNORECASE,
)

_POSTCODE = re.compile(r"\d{2,6}")
_GAPS = (" ", ", ", "\n", ",\n")


def find_personal(texts: Sequence[str], *, progress: Progress | None = None) -> list[list[Entity]]:
    """The personal data of each text, in the order of the text, without overlaps.

    For English texts in ordinary writing: without capitals few names are found (docs/personal-data.md).
    Needs the extra `unembed[personal]`; nothing is downloaded, no text leaves this machine.

    >>> find_personal(["Call Anna Berg on 212-555-0143."])
    [[Entity(kind=<Kind.NAME: 'name'>, text='Anna Berg', start=5, end=14), Entity(kind=<Kind.PHONE: ...]]
    """
    engine, progress = analyser(), progress or SilentProgress()
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)  # it remarks on every unused label
    found: list[list[Entity]] = []
    for start in range(0, len(texts), BATCH):
        some = list(texts[start : start + BATCH])
        for text, artefacts in engine.nlp_engine.process_batch(some, language="en", batch_size=BATCH):
            results = engine.analyze(text, language="en", nlp_artifacts=artefacts)
            found.append(_without_overlaps(text, results))
        progress.advance(len(some))
    return found


def _without_overlaps(text: str, results: Sequence[Any]) -> list[Entity]:
    """What is surest first, then what is longest; anything that overlaps it is dropped."""
    kept: list[Entity] = []
    for result in sorted(results, key=lambda one: (_RANK[one.entity_type], one.start - one.end, one.start)):
        entity = _entity(text, result)
        if entity.kind is Kind.DATE and not _DATED.search(entity.text):
            continue
        if entity.text and all(entity.end <= other.start or entity.start >= other.end for other in kept):
            kept.append(entity)
    return _with_postcodes(text, sorted(kept, key=lambda one: one.start))


def _with_postcodes(text: str, entities: list[Entity]) -> list[Entity]:
    """A bare number right before or after a place belongs to its address: "10115 Berlin"."""
    places = [one for one in entities if one.kind is Kind.LOCATION]

    def belongs(number: Entity) -> bool:
        gaps = (text[min(number.end, place.end) : max(number.start, place.start)] for place in places)
        return bool(_POSTCODE.fullmatch(number.text)) and any(gap in _GAPS for gap in gaps)

    return [
        replace(one, kind=Kind.LOCATION) if one.kind is Kind.NUMBER and belongs(one) else one
        for one in entities
    ]


def _entity(text: str, result: Any) -> Entity:
    """presidio's result as ours; white space at its ends and a possessive s are no part of it."""
    kind, start, end = KINDS[result.entity_type], int(result.start), int(result.end)
    if kind is Kind.NAME and text[start:end].endswith(("'s", "’s")):
        end -= 2
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    return Entity(kind, text[start:end], start, end)
