"""A report as Markdown."""

from __future__ import annotations

from unembed.report import cells
from unembed.report.document import Report, Row, Table


def report_markdown(report: Report, *, plots: bool = False) -> str:
    """The whole report; `plots` puts each table's picture under it."""
    parts = [f"# {report.title}", ""]
    parts += [f"- {name}: {value}" for name, value in report.facts.items()]
    if report.conclusions:
        parts += ["", "## What follows", "", *(f"- {line}" for line in report.conclusions)]
    if plots:
        parts += [f"\n![{one.title}]({one.name}.png)" for one in report.scatters]
    for table in report.tables:
        parts += ["", table_markdown(table, plot=f"{table.name}.png" if plots and table.panels else None)]
    parts += ["", "## Definitions", ""]
    parts += [f"- {name}: {text}" for name, text in cells.definitions(report).items()]
    return "\n".join(parts) + "\n"


def table_markdown(table: Table, *, plot: str | None = None, level: int = 2) -> str:
    """One table with its heading, captions and, where given, its picture."""
    show_n = table.n is None
    head = [table.axis, *table.facts, *(["n"] if show_n else []), *map(cells.header, table.columns)]
    best = {column.name: cells.best_rows(table, column) for column in table.columns}
    left = 1 + len(table.facts)
    rule = [":--"] * left + ["--:"] * (len(head) - left)
    lines = [f"{'#' * level} {table.title}", "", _line(head), _line(rule)]
    lines += [_line(_row(table, row, best, show_n)) for row in table.rows]
    lines += ["", *(f"{caption}  " for caption in cells.captions(table))]
    if plot:
        lines += ["", f"![{table.title}]({plot})"]
    return "\n".join(lines)


def _row(table: Table, row: Row, best: dict[str, set[str]], show_n: bool) -> list[str]:
    label = escape(row.label)
    out = [f"*{label}*" if row.floor else label]
    out += [escape(row.facts.get(name, cells.ABSENT)) for name in table.facts]
    if show_n:
        out.append(cells.sample_counts(row))
    for column in table.columns:
        figure = row.figures.get(column.name)
        if figure is None:
            out.append(cells.ABSENT)
            continue
        value = cells.number(figure.value, column)
        bold = f"**{value}**" if not row.floor and row.label in best[column.name] else value
        out.append(f"{bold} {cells.interval(figure, column)}".rstrip())
    return out


def _line(values: list[str]) -> str:
    return "| " + " | ".join(values) + " |"


def escape(text: str) -> str:
    """A text that fits into a cell."""
    return text.replace("|", "\\|").replace("\n", " ")
