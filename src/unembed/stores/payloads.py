"""Texts in payloads: nested records of metadata, whose fields are named with dots (`metadata.source`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

FIRST = 100  # rows that are looked at for their fields


def text_fields(payloads: Iterable[Mapping[str, Any] | None]) -> tuple[str, ...]:
    """Every field that is a text in one of the payloads, in the order of appearance."""
    found: dict[str, None] = {}
    for payload in payloads:
        for name in _texts(payload or {}, ""):
            found.setdefault(name)
    return tuple(found)


def text_at(payload: Mapping[str, Any] | None, field: str | None) -> str | None:
    """The text in a field; None where there is none."""
    if field is None or not payload:
        return None
    value: Any = payload.get(field)
    if value is None and "." in field:
        value = payload
        for part in field.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) and value else None


def _texts(payload: Mapping[str, Any], prefix: str) -> Iterable[str]:
    for name, value in payload.items():
        if isinstance(value, str):
            yield f"{prefix}{name}"
        elif isinstance(value, Mapping) and prefix.count(".") < 3:
            yield from _texts(value, f"{prefix}{name}.")
