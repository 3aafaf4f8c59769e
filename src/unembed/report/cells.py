"""A figure in words: the same in every rendering."""

from __future__ import annotations

from unembed.metrics.figure import Figure
from unembed.report.document import Column, Reference, Report, Row, Table

ABSENT = "–"


def number(value: float, column: Column) -> str:
    """A value as the column shows its values; large ones lose digits that nobody reads."""
    shown = value * 100 if column.percent else value
    digits = column.digits if abs(shown) < 1000 else 0
    return f"{shown:,.{digits}f}"


def interval(figure: Figure, column: Column) -> str:
    """The interval, or nothing where one sample has none."""
    if figure.low is None or figure.high is None:
        return ""
    return f"[{number(figure.low, column)}, {number(figure.high, column)}]"


def header(column: Column) -> str:
    """The column's name with its unit, where it has one."""
    return f"{column.label} %" if column.percent else column.label


def best_rows(table: Table, column: Column) -> set[str]:
    """Labels of the rows (floors aside) whose shown value is the best; none where there is one row."""
    rows = [row for row in table.rows if not row.floor and column.name in row.figures]
    if column.best is None or not table.mark_best or len(rows) < 2:
        return set()
    values = [row.figures[column.name].value for row in rows]
    winner = max(values) if column.best == "high" else min(values)
    shown = number(winner, column)
    return {row.label for row in rows if number(row.figures[column.name].value, column) == shown}


def sample_counts(row: Row) -> str:
    """How many samples a row's figures come from."""
    counts = sorted({figure.n for figure in row.figures.values()})
    return " / ".join(f"{count:,}" for count in counts) or ABSENT


def captions(table: Table) -> list[str]:
    """The lines under a table: n, what the brackets are, the notes."""
    count = f"n = {table.n:,} texts a row; " if table.n is not None else ""
    cited = [reference(table, one) for one in table.references]
    return [f"{count}brackets: 95 % bootstrap interval over texts.", *table.notes, *cited]


def reference(table: Table, one: Reference) -> str:
    """A published figure in words, with all that it depends on."""
    columns = {column.name: column for column in table.columns}
    figures = [
        f"{header(columns[name])} {number(value, columns[name])}"
        for name, value in one.values.items()
        if name in columns
    ]
    return f"For reference, {one.label}: {', '.join(figures)}. {one.conditions} Source: {one.source}."


def definitions(report: Report) -> dict[str, str]:
    """What each figure is, once for all tables."""
    columns = [column for table in report.tables for column in table.columns]
    return {column.label: column.signature for column in columns if column.signature}
