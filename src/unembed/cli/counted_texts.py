"""What the commands share that count something in texts and put the counts into a model's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click
from pydantic import BaseModel

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import options_from

Function = TypeVar("Function", bound=Callable[..., Any])


class Counts(Protocol):
    """What was counted."""

    def save(self, path: Path) -> None: ...


_Counts = TypeVar("_Counts", bound=Counts)


def counting_options(config: type[BaseModel]) -> Callable[[Function], Function]:
    """The model, the options of the count, and where the counts go."""

    def decorate(function: Function) -> Function:
        function = json_option(function)
        function = click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            help="File to write.  [default: the model's folder]",
        )(function)
        function = options_from(config)(function)
        return click.option(
            "--model", required=True, type=click.Path(path_type=Path), help="Folder of the model."
        )(function)

    return decorate


def keep_counts(counts: _Counts, add: Callable[[_Counts], object], usual: Path, output: Path | None) -> Path:
    """Write them where asked, or `add` them to the model, which has them in the file `usual`."""
    if output is None:
        add(counts)
        return usual
    counts.save(output)
    return output


def tell_counts(
    kind: str, file: Path, figures: dict[str, int], sentence: Callable[[int], str], *, as_json: bool
) -> None:
    """The figures as JSON, or a sentence that is given the file's size in bytes."""
    size = file.stat().st_size
    if as_json:
        print_json({kind: str(file), **figures, "bytes": size})
    else:
        say(f"{file}: {sentence(size)}")
