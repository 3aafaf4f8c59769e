"""What counts as personal data here, and where it stands in a text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(str, Enum):
    """The kinds of personal data that are told apart."""

    NAME = "name"
    LOCATION = "location"  # an address or a part of one: street, town, country, postcode
    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"
    DATE = "date"
    URL = "url"
    IP = "ip"
    ID_NUMBER = "id-number"  # of a person: social security, passport, driving licence
    ORGANISATION = "organisation"
    NUMBER = "number"  # any other: amounts, codes, references, ages


@dataclass(frozen=True)
class Entity:
    """One piece of personal data: `text[start:end]` of the text that it was found in."""

    kind: Kind
    text: str
    start: int
    end: int
