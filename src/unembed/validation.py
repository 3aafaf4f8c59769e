"""What pydantic says of a wrong value, in one line that names the option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

# pydantic's kinds of broken bounds: the key of the bound, and the bound in words.
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "string": "a text"}


def one_line(error: ValidationError, names: dict[str, str] | None = None) -> str:
    """The first of its complaints. `names`: what the user called an option, where that differs."""
    first: Any = error.errors()[0]
    if not first["loc"]:  # about several options together
        message = _message(first)
        return message[:1].upper() + message[1:].rstrip(".") + "."
    option = str(first["loc"][0])
    return complaint(first, (names or {}).get(option, option))


def complaint(first: Mapping[str, Any], option: str) -> str:
    """One entry of pydantic's `errors()`, about the option of that name."""
    kind, given = first["type"], first["input"]
    if kind == "extra_forbidden":
        return f"There is no option '{option}'."
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{option} must be {words} {first['ctx'][key]:g}, got {given}."
    if kind == "literal_error":
        return f"{option} must be {first['ctx']['expected']}, got {given!r}."
    if kind.endswith(("_parsing", "_type", "_from_float")) and kind.split("_")[0] in _KINDS:
        return f"{option} must be {_KINDS[kind.split('_')[0]]}, got {given!r}."
    return f"{option}: {_message(first)}, got {given!r}."


def _message(first: Mapping[str, Any]) -> str:
    return str(first["msg"]).removeprefix("Value error, ")
