"""A report in the terminal: intervals under their values where a person reads, one line per row in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from unembed.report import cells
from unembed.report.document import Report, Row, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_PIPE_WIDTH = 400  # nothing is wrapped: a script reads it


def print_report(report: Report, console: Console | None = None) -> None:
    """Every table of the report, on stdout."""
    from rich.console import Console

    people = sys.stdout.isatty() if console is None else console.is_terminal
    out = console or Console(width=None if people else _PIPE_WIDTH, highlight=False)
    for name, value in report.facts.items():
        out.print(f"[bold]{name}[/]  {_plain(value)}", soft_wrap=not people)
    for table in report.tables:
        out.print()
        out.print(_table(table, stacked=people))
        for caption in cells.captions(table):
            out.print(f"[dim]{_plain(caption)}[/]", soft_wrap=not people)
    for line in report.conclusions:
        out.print(f"[bold]·[/] {_plain(line)}", soft_wrap=not people)
    out.print()
    for name, text in cells.definitions(report).items():
        out.print(f"[dim]{_plain(name)}: {_plain(text)}[/]", soft_wrap=not people)


def _table(table: Table, *, stacked: bool) -> RichTable:
    from rich.table import Table as RichTable

    drawn = RichTable(
        title=table.title, title_justify="left", title_style="bold", header_style="bold", box=None,
        pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    drawn.add_column(table.axis, overflow="fold")
    for fact in table.facts:
        drawn.add_column(fact, overflow="fold")
    show_n = table.n is None
    if show_n:
        drawn.add_column("n", justify="right")
    for column in table.columns:
        drawn.add_column(cells.header(column), justify="right")
    best = {column.name: cells.best_rows(table, column) for column in table.columns}
    for row in table.rows:
        drawn.add_row(*_cells(table, row, best, show_n, stacked), style="dim" if row.floor else None)
    return drawn


def _cells(table: Table, row: Row, best: dict[str, set[str]], show_n: bool, stacked: bool) -> list[str]:
    out = [_plain(row.label), *(_plain(row.facts.get(name, cells.ABSENT)) for name in table.facts)]
    if show_n:
        out.append(cells.sample_counts(row))
    for column in table.columns:
        figure = row.figures.get(column.name)
        if figure is None:
            out.append(cells.ABSENT)
            continue
        value = cells.number(figure.value, column)
        if not row.floor and row.label in best[column.name]:
            value = f"[bold]{value}[/]"
        interval = _plain(cells.interval(figure, column))
        if interval:
            value += f"\n[dim]{interval}[/]" if stacked else f" {interval}"
        out.append(value)
    return out


def _plain(text: str) -> str:
    """Brackets in a text are not markup."""
    from rich.markup import escape

    return escape(text)
