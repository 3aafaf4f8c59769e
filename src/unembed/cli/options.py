"""A configuration's fields as command-line options: the field's description is the option's help.

A command that takes a pydantic model reads, in order: the model's defaults, the file given with
`--config`, then the options that were typed.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from unembed.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])
Config = TypeVar("Config", bound=BaseModel)


def options_from(model: type[BaseModel], *, skip: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Give a command one option a field of `model`; what was not typed arrives as None."""

    def decorate(function: Function) -> Function:
        for name, field in reversed(model.model_fields.items()):
            if name not in skip:
                function = _option(name, field)(function)
        return function

    return decorate


def build_config(model: type[Config], typed: dict[str, Any], *, file: Path | None = None) -> Config:
    """Defaults, then the file, then what was typed; a wrong value is named with its option."""
    values: dict[str, Any] = {}
    if file is not None:
        values.update(read_config_file(file, model))
    values.update({name: value for name, value in typed.items() if value is not None})
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        option = "--" + ".".join(str(part) for part in first["loc"]).replace("_", "-")
        raise UsageError(
            f"{option}: {message} (got {first['input']!r})." if first["loc"] else message
        ) from error


def read_config_file(file: Path, model: type[BaseModel]) -> dict[str, Any]:
    """The fields that a YAML file sets; a field that does not exist is an error, not a silent no-op."""
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"There is no configuration file {file}.") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{file} is not valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise UsageError(f"{file} must be a YAML mapping of field names to values.")
    unknown = sorted(set(values) - set(model.model_fields))
    if unknown:
        raise UsageError(
            f"{file} sets {', '.join(unknown)}, which {model.__name__} does not have.",
            hint=f"Its fields: {', '.join(model.model_fields)}.",
        )
    return values


def _option(name: str, field: FieldInfo) -> Callable[[Function], Function]:
    flag = "--" + name.replace("_", "-")
    kind = _without_none(field.annotation)
    help_text = field.description or ""
    default = field.get_default(call_default_factory=True)
    if default is not PydanticUndefined and default is not None and default != ():
        shown = default.value if isinstance(default, Enum) else default
        help_text += f"  [default: {shown}]"
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=help_text)
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        return click.option(flag, name, type=click.Choice(choices), default=None, help=help_text)
    click_type = {int: click.INT, float: click.FLOAT, Path: click.Path(path_type=Path)}.get(
        kind if isinstance(kind, type) else str, click.STRING
    )
    return click.option(flag, name, type=click_type, default=None, help=help_text)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [part for part in get_args(annotation) if part is not type(None)]
        return rest[0] if rest else str
    return annotation
