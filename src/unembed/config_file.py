"""Settings from a YAML file and from keywords: what the command line and Python share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from unembed.errors import UsageError

Config = TypeVar("Config", bound=BaseModel)


def read_config_file(file: Path, model: type[BaseModel]) -> dict[str, Any]:
    """The fields that a YAML file sets; a field that does not exist is an error, not a silent no-op."""
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(
            f"There is no configuration file {file}.", hint="Give the path of a YAML file."
        ) from error
    except yaml.YAMLError as error:
        raise UsageError(f"{file} is not valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise UsageError(
            f"{file} must be a YAML mapping of field names to values.",
            hint='Write one "name: value" per line.',
        )
    unknown = sorted(set(values) - set(model.model_fields))
    if unknown:
        raise UsageError(
            f"{file} sets {', '.join(unknown)}, which {model.__name__} does not have.",
            hint=f"Its fields: {', '.join(model.model_fields)}.",
        )
    return values


def settings_from(model: type[Config], base: Config | Path | None, fields: dict[str, Any]) -> Config:
    """Keywords on top of a configuration, of a YAML file, or of the defaults; a wrong one is named."""
    values: dict[str, Any] = {}
    if isinstance(base, Path):
        values = read_config_file(base, model)
    elif base is not None:
        values = base.model_dump()
    try:
        return model(**(values | fields))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        hint = None
        if first["type"] == "extra_forbidden":
            hint = f"The fields of {model.__name__}: {', '.join(model.model_fields)}."
        elif name in model.model_fields:
            hint = f"{name}: {model.model_fields[name].description}"
        raise UsageError(f"{name}: {message}." if name else message, hint=hint) from error
