"""The detector as it is: presidio, spaCy's pipeline, and the patterns of our own; no network."""

from __future__ import annotations

import itertools
import socket

import pytest

from unembed.personal import Kind, find_personal

FOUND = [
    ("Call Anna Berg on 212-555-0143.", [(Kind.NAME, "Anna Berg"), (Kind.PHONE, "212-555-0143")]),
    ("My card is 4111 1111 1111 1111.", [(Kind.CARD, "4111 1111 1111 1111")]),
    ("Pay to DE89370400440532013000 please.", [(Kind.IBAN, "DE89370400440532013000")]),
    ("Write to a.berg@example.com soon.", [(Kind.EMAIL, "a.berg@example.com")]),
    ("She lives at 12 Main Street.", [(Kind.LOCATION, "12 Main Street")]),
    ("It is in Hauptstraße 12.", [(Kind.LOCATION, "Hauptstraße 12")]),
    ("The office is in 10115 Berlin.", [(Kind.LOCATION, "10115"), (Kind.LOCATION, "Berlin")]),
    ("My social security number is 856-45-6789.", [(Kind.ID_NUMBER, "856-45-6789")]),
    ("The server is 10.0.0.12, I think.", [(Kind.IP, "10.0.0.12")]),
    ("Look at www.example.org/help for it.", [(Kind.URL, "www.example.org/help")]),
    ("He was born on 3 April 1971.", [(Kind.DATE, "3 April 1971")]),
    ("The order is AB12-9988.", [(Kind.NUMBER, "AB12-9988")]),
    ("It cost $1,250.00 then.", [(Kind.NUMBER, "$1,250.00")]),
    ("I like to walk in the rain.", []),
    ("", []),
]


@pytest.fixture(scope="module")
def found() -> dict[str, list[tuple[Kind, str]]]:
    texts = [text for text, _ in FOUND]
    # Nothing may be fetched, not even a list of domains.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _no_network)
        patch.setattr(socket, "getaddrinfo", _no_network)
        entities = find_personal(texts)
    for text, own in zip(texts, entities, strict=True):
        for entity in own:
            assert text[entity.start : entity.end] == entity.text
        assert all(one.end <= two.start for one, two in itertools.pairwise(own)), "overlap"
    return {text: [(one.kind, one.text) for one in own] for text, own in zip(texts, entities, strict=True)}


def _no_network(*arguments: object, **keywords: object) -> None:
    raise AssertionError("The detector went to the network.")


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_each_kind_is_found(found, text: str, expected: list[tuple[Kind, str]]) -> None:
    assert found[text] == expected


def test_more_texts_than_a_batch_keep_their_order() -> None:
    addresses = [f"a{number}@example.com" for number in range(100, 230)]
    found = find_personal([f"Write to {address} soon." for address in addresses])
    assert [[entity.text for entity in own] for own in found] == [[address] for address in addresses]
