"""A configuration's fields as command-line options: the field's description is the option's help.

A command that takes a pydantic model reads, in order: the model's defaults, the file given with
`--config`, then the options that were typed.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from unembed.config_file import read_config_file
from unembed.errors import UsageError
from unembed.validation import one_line

Function = TypeVar("Function", bound=Callable[..., Any])
Config = TypeVar("Config", bound=BaseModel)


class SectionedOption(click.Option):
    """An option that knows its heading."""

    def __init__(self, *args: Any, section: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionedCommand(click.Command):
    """Lists the options heading by heading, in the order of their first option; the rest comes last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                rows.setdefault(getattr(parameter, "section", ""), []).append(record)
        rest = rows.pop("", [])
        for heading, records in (*rows.items(), ("Options", rest)):
            with formatter.section(heading):
                formatter.write_dl(records)


def trust_option(function: Function) -> Function:
    """`--trust-remote-code`, for every command that loads an encoder; off unless it is typed."""
    return click.option(
        "--trust-remote-code", is_flag=True, help="Run the code that an encoder's model folder brings along."
    )(function)


def options_from(
    model: type[BaseModel],
    *,
    skip: tuple[str, ...] = (),
    sections: dict[str, str] | None = None,
    also: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Function], Function]:
    """Give a command one option per field of `model`; what was not typed arrives as None, or as ().

    A field that is a tuple makes an option that can be repeated. `sections` names the field at which a
    heading of the help begins (for a `SectionedCommand`). `also` gives fields further flags: short ones,
    and names from before.
    """

    def decorate(function: Function) -> Function:
        heading, headed = "", {}
        for name in model.model_fields:
            heading = (sections or {}).get(name, heading)
            headed[name] = heading
        for name, field in reversed(model.model_fields.items()):
            if name not in skip:
                function = _option(name, field, headed[name], (also or {}).get(name, ()))(function)
        return function

    return decorate


def build_config(model: type[Config], typed: dict[str, Any], *, file: Path | None = None) -> Config:
    """Defaults, then the file, then what was typed; a wrong value is named with its option."""
    values: dict[str, Any] = {}
    if file is not None:
        values.update(read_config_file(file, model))
    values.update({name: value for name, value in typed.items() if value is not None and value != ()})
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
        flags = {name: "--" + name.replace("_", "-") for name in model.model_fields}
        if first["type"] == "missing":
            name = str(first["loc"][0])
            hint = model.model_fields[name].description
            raise UsageError(f"Missing option '{flags[name]}'.", hint=hint) from error
        raise UsageError(one_line(error, flags)) from error


def _option(
    name: str, field: FieldInfo, section: str, also: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    def option(*flags: str, **settings: Any) -> Callable[[Function], Function]:
        return click.option(
            *flags, *also, name, cls=SectionedOption, section=section, help=help_text, **settings
        )

    flag = "--" + name.replace("_", "-")
    kind = _without_none(field.annotation)
    help_text = field.description or ""
    default = field.get_default(call_default_factory=True)
    if default is not PydanticUndefined and default is not None and default != ():
        shown = default.value if isinstance(default, Enum) else default
        help_text += f"  [default: {shown}]"
    if kind is bool:
        return option(f"{flag}/--no-{flag[2:]}", default=None)
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        return option(flag, type=click.Choice(choices), default=None)
    if get_origin(kind) is tuple:
        part = get_args(kind)[0]
        if part is int:
            return option(flag, multiple=True, metavar="N[,N...]")
        return option(flag, multiple=True, type=_click_type(part))
    return option(flag, type=_click_type(kind), default=None)


def _click_type(kind: Any) -> click.ParamType[Any]:
    known: dict[Any, click.ParamType[Any]] = {
        int: click.INT,
        float: click.FLOAT,
        Path: click.Path(path_type=Path),
    }
    return known.get(kind, click.STRING)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [part for part in get_args(annotation) if part is not type(None)]
        return rest[0] if rest else str
    return annotation
