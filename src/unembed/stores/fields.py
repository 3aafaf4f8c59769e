"""Which field holds the vectors, which the texts, which the ids: what was named, else what is clear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unembed.errors import UsageError
from unembed.stores.base import Row, VectorField
from unembed.vectors.random_access import USUAL_NAMES

# In this order: LangChain's and Chroma's own names are among them.
TEXT_NAMES = (
    "text", "page_content", "document", "content", "chunk", "chunk_text", "body", "sentence", "passage",
    "texts", "documents", "message", "abstract", "description", "summary",
)  # fmt: skip
ID_NAMES = ("id", "_id", "uuid", "doc_id", "document_id", "chunk_id", "pk", "key")
_SECRET = ("key", "token", "password", "secret", "credential", "dsn")
_SHOWN = 500  # characters of a value of the metadata
_LISTED = 20  # names that an error lists


def choose_vector(fields: Sequence[VectorField], name: str | None, where: str) -> VectorField:
    """The field that was named, or the only one, or one with a usual name."""
    readable = [field for field in fields if field.obstacle is None]
    if name is not None:
        for field in fields:
            if field.name == name:
                if field.obstacle is not None:
                    raise _unreadable(field, readable, where)
                return field
        raise UsageError(
            f"{where} has no vector '{name}'.",
            hint=f"It has: {listed([field.name or '(unnamed)' for field in fields])}.",
        )
    if not fields:
        raise UsageError(f"{where} has no vectors.", hint="Give the collection or table that holds them.")
    if not readable:
        raise _unreadable(fields[0], readable, where)
    if len(readable) == 1:
        return readable[0]
    usual = [field for field in readable if field.name in ("", *USUAL_NAMES)]
    if len(usual) == 1:
        return usual[0]
    raise UsageError(
        f"{where} has {len(readable)} vectors a row: which are to be read?",
        hint=f"Choose with --vector: {listed([field.name for field in readable])}.",
    )


def measured(
    fields: tuple[VectorField, ...], field: VectorField, scroll: Callable[[int], Iterator[list[Row]]]
) -> tuple[tuple[VectorField, ...], VectorField]:
    """The fields, and the one that is read, with the dimension that only its first row tells."""
    if field.dimension is not None:
        return fields, field
    first = next(scroll(1), None)
    known = replace(field, dimension=len(first[0].vector) if first else None)
    return tuple(known if one is field else one for one in fields), known


def choose_text(fields: Sequence[str], name: str | None, where: str) -> str | None:
    """The field that was named, or the first usual name; None where nothing is clear."""
    if name is not None:
        if name not in fields:
            raise UsageError(
                f"{where} has no text field '{name}'.",
                hint=f"Its text fields: {listed(fields)}." if fields else "It has no text fields at all.",
            )
        return name
    return next((usual for usual in TEXT_NAMES if usual in fields), None)


def choose_id(names: Sequence[str]) -> str | None:
    """A column with a usual name for ids."""
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[usual] for usual in ID_NAMES if usual in lower), None)


def choose_collection(names: Sequence[str], name: str | None, where: str, what: str = "collection") -> str:
    """The collection that was named, or the only one."""
    if name is not None:
        if name not in names:
            raise UsageError(
                f"{where} has no {what} '{name}'.",
                hint=f"It has: {listed(sorted(names))}." if names else f"It has no {what}s at all.",
            )
        return name
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError(f"{where} has no {what}s.", hint="Is this the right address?")
    raise UsageError(
        f"{where} has {len(names)} {what}s: which one is to be read?",
        hint=f"Write it after the address, as #{what.upper()}: {listed(sorted(names))}.",
    )


def metadata(found: Mapping[str, Any]) -> dict[str, str]:
    """What a store says about itself as short texts, without what could be a secret."""
    return {
        str(name): str(value)[:_SHOWN]
        for name, value in found.items()
        if value not in (None, "") and not any(word in str(name).lower() for word in _SECRET)
    }


def listed(names: Sequence[str]) -> str:
    """Names for a message; not thousands of them."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _unreadable(field: VectorField, readable: Sequence[VectorField], where: str) -> UsageError:
    others = listed([other.name for other in readable])
    return UsageError(
        f"{where.rstrip(',')}: the vectors '{field.name}' cannot be read: {field.obstacle}.",
        hint=f"Choose with --vector: {others}." if others else "Only one dense vector a row can be inverted.",
    )
