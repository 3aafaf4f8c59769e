"""A strategy's own options: from what was typed or sent to the types that the strategy declares.

A strategy declares its options as the fields of a dataclass or of a pydantic model.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from unembed.errors import UsageError
from unembed.validation import one_line

_Options = TypeVar("_Options")


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}  # they take milliseconds to make


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def option_names(kind: type[Any]) -> list[str]:
    """The names of the options that a strategy takes."""
    if issubclass(kind, BaseModel):
        return list(kind.model_fields)
    return [field.name for field in dataclasses.fields(kind)]


def option_schema(kind: type[Any]) -> dict[str, dict[str, Any]]:
    """By option: its JSON schema, with type, default and bounds."""
    properties: dict[str, dict[str, Any]] = _adapter(kind).json_schema().get("properties", {})
    return properties


def check_options(strategy: str, kind: type[_Options], given: Mapping[str, Any]) -> _Options:
    """The options as the strategy declares them; an unknown or wrong one is an error of one line."""
    old: Mapping[str, str] = getattr(kind, "OLD_NAMES", {})
    known = option_names(kind)
    values: dict[str, Any] = {}
    called: dict[str, str] = {}
    for name, value in given.items():
        current = old.get(name, name)
        if current not in known:
            close = difflib.get_close_matches(name, known, n=1)
            guess = f"Did you mean '{close[0]}'? " if close else ""
            raise UsageError(
                f"The strategy '{strategy}' has no option '{name}'.",
                hint=f"{guess}Its options: {', '.join(known) or 'none'}.",
            )
        if current in values:
            raise UsageError(f"{called[current]} and {name} are the same option.", hint="Give one of them.")
        values[current], called[current] = value, name
    try:
        made: _Options = _adapter(kind).validate_python(values)
    except ValidationError as error:
        raise UsageError(f"Strategy '{strategy}': {one_line(error, called)}") from error
    return made


def parse_options(typed: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, as typed on a command line."""
    out: dict[str, str] = {}
    for one in typed:
        name, sign, value = one.partition("=")
        if not sign:
            raise UsageError(f"'{one}' is not NAME=VALUE.", hint="For example: share=0.1")
        if name in out:
            raise UsageError(f"The option {name} is given twice.", hint="Give it once.")
        out[name] = value
    return out
