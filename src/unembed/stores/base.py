"""The protocol that every store follows, and what it tells. Nothing here or below ever writes to a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from unembed.vectors.arrays import Floats

BATCH = 1024  # rows of a page
TIMEOUT = 30.0  # seconds that a server may take for one answer


@dataclass(frozen=True)
class Row:
    """One vector of a store, with the text that it was made of where the store keeps it."""

    id: str
    vector: Floats  # [D]
    text: str | None  # None: the store has no text for it
    extra: Mapping[str, str] = field(default_factory=dict)  # other metadata is not kept unless asked for


@dataclass(frozen=True)
class VectorField:
    """One place of a store where vectors are: a named vector, a column, an array of a file."""

    name: str
    dimension: int | None  # None: only reading tells
    dtype: str  # as it is stored: "float32", "float16", "int8", ...
    metric: str | None = None  # by which the store compares: "cosine", "l2", "dot"
    obstacle: str | None = None  # why it cannot be read: several vectors a row, or sparse ones


@dataclass(frozen=True)
class StoreInfo:
    """What a store says about itself; never credentials."""

    kind: str  # "qdrant", "chroma", ...
    address: str  # as it was given
    collection: str | None
    count: int | None
    vector: VectorField  # the field that is read
    vectors: tuple[VectorField, ...]  # all that there are
    text_field: str | None  # the field that is read; None: there is none, or it is not clear which
    text_fields: tuple[str, ...]  # those that could be it
    metadata: Mapping[str, str] = field(default_factory=dict)  # what may help to identify the encoder


class Store(Protocol):
    """An opened store. It can be read any number of times, by one thread."""

    def describe(self) -> StoreInfo: ...

    def count(self) -> int | None:
        """How many rows there are; None where only reading tells. Rows without a vector may be among them."""

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        """Every row that has a vector, once, in pages of at most `batch`, in constant memory."""

    def close(self) -> None: ...
