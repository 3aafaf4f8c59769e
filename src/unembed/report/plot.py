"""A table as a picture: one panel per metric, one mark per row, its interval as a bar; floors in grey, what
others published in vermilion.

Colours are from Okabe and Ito's palette, which the colour-blind can tell apart; nothing is shown by
colour alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unembed.extras import require
from unembed.metrics.figure import Figure
from unembed.report import cells
from unembed.report.document import Column, Row, Table
from unembed.storage import atomic_write

MODEL = "the model"  # what a curve without a name of its own is called
_MODEL, _FLOOR, _CITED = "#0072B2", "#767676", "#D55E00"
_FLOOR_DASHES = ("--", ":", "-.")
_LEAST_WIDTH = 5.4  # of the title
_PANEL_WIDTH, _ROW_HEIGHT, _CURVE_HEIGHT = 3.0, 0.34, 2.7
STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
    "svg.hashsalt": "unembed",  # the same table gives the same file
}


def plot_table(table: Table, folder: Path, *, formats: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Draw the table's panels into `folder/<name>.<format>`."""
    matplotlib = require("matplotlib", extra="eval", purpose="A plot")
    figure_module = require("matplotlib.figure", extra="eval", purpose="A plot")
    columns = [column for column in table.columns if column.name in table.panels]
    if not columns:
        return []
    rows = [row for row in table.rows if any(column.name in row.figures for column in columns)]
    with matplotlib.rc_context(STYLE):
        # Without pyplot there is no window, no global state and no backend to choose.
        curves = table.scale != "category"
        height = _CURVE_HEIGHT if curves else 0.55 + _ROW_HEIGHT * len(rows)
        figure = figure_module.Figure(
            figsize=(max(_LEAST_WIDTH, _PANEL_WIDTH * len(columns) + 0.8), height + 0.75),
            layout="constrained",
            dpi=160,
        )
        panels = figure.subplots(1, len(columns), sharey=not curves, squeeze=False)[0]
        for panel, column in zip(panels, columns, strict=True):
            (_curve_panel if curves else _dot_panel)(panel, table, rows, column)
        if curves:
            _legend(figure, panels)
        count = f"  (n = {table.n:,}; bars: 95 % bootstrap)" if table.n else "  (bars: 95 % bootstrap)"
        figure.suptitle(table.title + count, x=0.01, ha="left", fontsize=11)
        return [save_figure(figure, folder / f"{table.name}.{kind}", kind) for kind in formats]


def _dot_panel(panel: Any, table: Table, rows: list[Row], column: Column) -> None:
    """Rows from top to bottom, values to the right."""
    for position, row in enumerate(rows):
        figure = row.figures.get(column.name)
        if figure is None:
            continue
        colour = _FLOOR if row.floor else _MODEL
        value, low, high = _scaled(row, column)
        panel.plot([low, high], [position, position], color=colour, linewidth=1.6, solid_capstyle="butt")
        panel.plot([value], [position], marker="D" if row.floor else "o", markersize=5, color=colour)
        panel.annotate(
            cells.number(figure.value, column), (value, position), xytext=(0, 5),
            textcoords="offset points", ha="center", fontsize=8, color=colour,
        )  # fmt: skip
    several = len({row.curve for row in rows}) > 1
    names = [f"{row.label} · {row.curve}" if several and row.curve else row.label for row in rows]
    panel.set_yticks(range(len(rows)), names)
    # Panels that share their labels have none of their own to colour.
    for tick, row in zip(panel.get_yticklabels(), rows, strict=False):
        tick.set_color(_FLOOR if row.floor else "#111111")
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(rows) - 0.4, -0.75)
    panel.margins(x=0.14)
    if column.percent:
        left, right = panel.get_xlim()
        panel.set_xlim(max(left, -0.15 * max(right, 1.0)), max(right, 1.0))
    panel.grid(axis="x")
    panel.set_title(cells.header(column), loc="left")
    panel.spines["left"].set_visible(False)


def _curve_panel(panel: Any, table: Table, rows: list[Row], column: Column) -> None:
    """The axis to the right, values upwards; floors as lines across, or as curves where they have an x."""
    curves: dict[str, list[Row]] = {}
    for row in rows:
        if column.name in row.figures:
            name = row.curve or (row.label if row.floor else MODEL)
            curves.setdefault(name, []).append(row)
    dashes = iter(_FLOOR_DASHES * 3)
    for name, members in curves.items():
        _draw_curve(panel, name, members, column, next(dashes) if members[0].floor else "-")
    for one, dash in zip(table.references, _FLOOR_DASHES, strict=False):
        if column.name in one.values:
            value = one.values[column.name] * (100.0 if column.percent else 1.0)
            panel.axhline(value, color=_CITED, linestyle=dash, linewidth=1.1, label=one.label)
    _draw_axis(panel, table, rows)
    panel.grid(axis="y")
    panel.set_title(cells.header(column), loc="left")
    panel.set_ylim(_limits(panel.get_ylim(), rows, column))


def _draw_curve(panel: Any, name: str, rows: list[Row], column: Column, dash: str) -> None:
    """The model's points with their intervals, or a floor: a curve, or a line where it has no x."""
    floor = rows[0].floor
    line = {"color": _FLOOR if floor else _MODEL, "label": name}
    points = [(row.x, *_scaled(row, column)) for row in rows if row.x is not None]
    if not points:
        panel.axhline(_scaled(rows[0], column)[0], linestyle=dash, linewidth=1.3, **line)
        return
    xs, values, lows, highs = (list(part) for part in zip(*points, strict=True))
    if floor:  # the table has its intervals; here they would hide the model's
        panel.plot(xs, values, linestyle=dash, linewidth=1.3, **line)
        return
    below = [value - low for value, low in zip(values, lows, strict=True)]
    above = [high - value for value, high in zip(values, highs, strict=True)]
    panel.errorbar(
        xs, values, yerr=[below, above], linewidth=1.5, elinewidth=1.1, capsize=2, marker="o", markersize=4.5,
        clip_on=False, zorder=3, **line,
    )  # fmt: skip


def _draw_axis(panel: Any, table: Table, rows: list[Row]) -> None:
    """The x axis: its scale, and a tick per point where there is room."""
    ticks = sorted({row.x for row in rows if row.x is not None})
    if table.scale == "symlog":
        smallest = min((tick for tick in ticks if tick > 0), default=1.0)
        panel.set_xscale("symlog", linthresh=smallest, linscale=0.5)
        panel.set_xlim(-smallest / 3, max(ticks) * 1.25)
        panel.set_xticks(ticks, [_tick(tick) for tick in ticks])
        panel.minorticks_off()
    elif len(ticks) <= 8:
        panel.set_xticks(ticks, [_tick(tick) for tick in ticks])
    panel.set_xlabel(table.axis)


def _tick(value: float) -> str:
    """Short: the points of a curve are often close together."""
    return f"{value:g}" if value < 1000 else f"{value / 1000:g}k"


def _limits(drawn: tuple[float, float], rows: list[Row], column: Column) -> tuple[float, float]:
    """The drawn range; shares from zero on, and wide enough to be read.

    A hundredth of a percent is not worth a whole axis: where all are 0, the axis ends at 1 %.
    """
    low, high = drawn
    least = min(_scaled(row, column)[1] for row in rows if column.name in row.figures)
    if least >= 0 and (column.percent or low < 0):
        low = 0.0
    return low, max(high, low + 1.0) if column.percent else high


def _scaled(row: Row, column: Column) -> tuple[float, float, float]:
    """A row's value and interval in the unit that the panel shows."""
    return scaled(row.figures[column.name], column)


def scaled(figure: Figure, column: Column) -> tuple[float, float, float]:
    """Value and interval in the unit that the column shows."""
    factor = 100.0 if column.percent else 1.0
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    return figure.value * factor, low * factor, high * factor


def _legend(figure: Any, panels: Any) -> None:
    named: dict[str, Any] = {}  # a panel may show what another does not
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    # What was drawn with marks (the model) first, the lines across after it.
    found = sorted(((handle, label) for label, handle in named.items()), key=lambda pair: _is_line(pair[0]))
    if len(found) > 1:
        handles, labels = zip(*found, strict=True)
        figure.legend(
            handles, labels, loc="outside lower left", ncols=len(labels), frameon=False, fontsize=8.5
        )


def _is_line(handle: Any) -> bool:
    return not hasattr(handle, "has_yerr")


def save_figure(figure: Any, path: Path, kind: str) -> Path:
    """Write a drawn figure, whole or not at all."""
    # No date in the file: the same table gives the same bytes.
    metadata = {"Date": None} if kind == "svg" else {}
    with atomic_write(path) as file:
        figure.savefig(file, format=kind, metadata=metadata)
    return path
