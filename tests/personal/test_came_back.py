"""Which entities of an original stand in a recovered text."""

from __future__ import annotations

import pytest

from unembed.personal import Entity, Extent, Kind, blackout, recovered

WHOLE, PART, NONE = Extent.WHOLE, Extent.PART, Extent.NONE


def extent(kind: Kind, text: str, recovered_text: str) -> Extent:
    [found] = recovered([Entity(kind, text, 0, len(text))], recovered_text)
    return found.extent


@pytest.mark.parametrize(
    ("kind", "text", "back", "expected"),
    [
        (Kind.NAME, "Anna Berg", "please call anna berg today", WHOLE),
        (Kind.NAME, "Anna Berg", "berg, anna", WHOLE),
        (Kind.NAME, "Anna Berg", "please call anna", PART),
        (Kind.NAME, "Anna Berg", "the annals of bergen", NONE),
        (Kind.NAME, "José Núñez", "it was jose nunez", WHOLE),
        (Kind.NAME, "Dr. van der Berg", "the van is dr. white's", NONE),
        (Kind.NAME, "Dr. van der Berg", "mr berg", WHOLE),
        (Kind.ORGANISATION, "Bank of Ireland", "the bank", PART),
        (Kind.LOCATION, "12 Main Street", "12 main street, springfield", WHOLE),
        (Kind.LOCATION, "12 Main Street", "the main entrance", PART),
        (Kind.PHONE, "+1 (212) 555-0143", "call + 1 212 555 - 0143 now", WHOLE),
        (Kind.PHONE, "212-555-0143", "2125550143", WHOLE),
        (Kind.PHONE, "212-555-0143", "212 555 0144", NONE),
        (Kind.PHONE, "212-555-0143", "921255501431", NONE),
        (Kind.EMAIL, "Anna.Berg@example.com", "mail anna. berg @ example. com please", WHOLE),
        (Kind.EMAIL, "anna.berg@example.com", "anna berg", NONE),
        (Kind.CARD, "4111 1111 1111 1111", "card 4111111111111111", WHOLE),
        (Kind.IBAN, "DE89 3704 0044 0532 0130 00", "de89370400440532013000", WHOLE),
        (Kind.DATE, "3/4/2021", "on 3 / 4 / 2021", WHOLE),
        (Kind.NUMBER, "1,500", "he paid 1500 dollars", WHOLE),
        (Kind.NUMBER, "1.50", "he paid 150 dollars", NONE),
        (Kind.NUMBER, "1.50", "he paid 1. 50 dollars", WHOLE),
        (Kind.NUMBER, "54", "i am 154", NONE),
    ],
)
def test_normalised_forms_are_compared(kind: Kind, text: str, back: str, expected: Extent) -> None:
    assert extent(kind, text, back) is expected


def test_a_part_says_which_words() -> None:
    [found] = recovered([Entity(Kind.NAME, "Anna Maria Berg", 0, 15)], "anna and a berg")
    assert found.words == ("anna", "berg")


def test_nothing_comes_back_out_of_an_empty_text() -> None:
    entities = [Entity(kind, "Anna 12", 0, 7) for kind in Kind]
    assert {found.extent for found in recovered(entities, "")} == {NONE}
    assert recovered([], "anna") == []


def test_blackout_covers_everything_but_spaces() -> None:
    text = "Call Anna Berg on 555-0143."
    entities = [Entity(Kind.NAME, "Anna Berg", 5, 14), Entity(Kind.PHONE, "555-0143", 18, 26)]
    assert blackout(text, entities) == "Call ████ ████ on ████████."
    assert blackout(text, []) == text
