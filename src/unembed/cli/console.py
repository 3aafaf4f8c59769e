"""What the commands print: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def json_option(function: Function) -> Function:
    """Add `--json` to a command: one JSON document (or JSON lines) on stdout instead of a table."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")(function)


def debug_option() -> click.Option:
    """`--debug`, for which `report_error` checks."""
    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, help="After an error, also show the Python traceback."
    )


def accept_debug(command: click.Command) -> click.Command:
    """The command, and every command inside it, with `--debug`."""
    if not any("--debug" in parameter.opts for parameter in command.params):
        command.params.append(debug_option())
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            accept_debug(inner)
    return command


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=None if not sys.stdout.isatty() else 2))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None
) -> None:
    """A table on stdout, as wide as the terminal when there is one."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # Cells are texts, not markup: "[MASK]" is a word here.
        table.add_row(*(Text(str(cell)) for cell in row))
    # Piped output is not wrapped: a table that a script reads keeps one line per row.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def say(text: str) -> None:
    """A line for the person at the terminal: on stderr."""
    click.echo(text, err=True)


def report_error(message: str, hint: str | None = None, *, cause: BaseException | None = None) -> None:
    """One error: for people as text, for scripts (--json) as a JSON object; on stderr either way.

    With --debug the traceback of `cause` comes with it.
    """
    trace = "".join(traceback.format_exception(cause)) if cause is not None and typed("--debug") else None
    if typed("--json"):
        described = {"error": message, "hint": hint, **({} if trace is None else {"traceback": trace})}
        click.echo(json.dumps(described, ensure_ascii=False), err=True)
        return
    if trace is not None:
        click.echo(trace, err=True)
    click.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)
    if hint:
        click.echo(hint, err=True)


def report_unexpected(error: Exception) -> None:
    """The last resort, for an error that nobody foresaw: one line, and how to see more."""
    text = str(error).strip().splitlines()
    message = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    hint = "This is unexpected; --debug shows the traceback."
    if typed("--json"):
        report_error(message, hint, cause=error)
    else:
        report_error(message if typed("--debug") else f"{message} ({hint})", cause=error)


def typed(flag: str) -> bool:
    """Whether a flag that every command takes was typed, wherever it stands: known before parsing fails."""
    return flag in sys.argv
