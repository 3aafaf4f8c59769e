"""What the commands print: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def json_option(function: Function) -> Function:
    """Add `--json` to a command: one JSON document (or JSON lines) on stdout instead of a table."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")(function)


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
    # Piped output is not wrapped: a table that a script reads keeps one line a row.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def say(text: str) -> None:
    """A line of news for the person who watches: stderr."""
    click.echo(text, err=True)


def report_error(message: str, hint: str | None, *, as_json: bool) -> None:
    """One error: for people as text, for scripts as a JSON object; on stderr either way."""
    if as_json:
        click.echo(json.dumps({"error": message, "hint": hint}, ensure_ascii=False), err=True)
        return
    click.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)
    if hint:
        click.echo(hint, err=True)
