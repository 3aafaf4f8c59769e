"""Figures against figures as a picture: a line per curve, intervals as bars on both axes, the best ringed.

Curves are told apart by mark and colour; nothing is shown by colour alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unembed.extras import require
from unembed.report import cells
from unembed.report.document import Column, Scatter, ScatterPoint
from unembed.report.plot import STYLE, save_figure, scaled

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "p", "d", "8", "H")
_PANEL, _HEIGHT = 4.6, 4.4


def plot_scatter(scatter: Scatter, folder: Path, *, formats: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Draw the panels into `folder/<name>.<format>`."""
    matplotlib = require("matplotlib", extra="eval", purpose="A plot")
    figure_module = require("matplotlib.figure", extra="eval", purpose="A plot")
    with matplotlib.rc_context(STYLE):
        figure = figure_module.Figure(
            figsize=(_PANEL * len(scatter.panels) + 2.6, _HEIGHT), layout="constrained", dpi=160
        )
        panels = figure.subplots(1, len(scatter.panels), squeeze=False)[0]
        for panel, column in zip(panels, scatter.panels, strict=True):
            _draw_panel(panel, scatter, column)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
        figure.suptitle(f"{scatter.title}  (bars: 95 % bootstrap)", x=0.01, ha="left", fontsize=11)
        return [save_figure(figure, folder / f"{scatter.name}.{kind}", kind) for kind in formats]


def _draw_panel(panel: Any, scatter: Scatter, column: Column) -> None:
    curves: dict[str, list[ScatterPoint]] = {}
    for point in scatter.points:
        if column.name in point.ys:
            curves.setdefault(point.curve, []).append(point)
    for number, (name, points) in enumerate(curves.items()):
        xs = [scaled(point.x, scatter.x) for point in points]
        ys = [scaled(point.ys[column.name], column) for point in points]
        panel.errorbar(
            [x[0] for x in xs], [y[0] for y in ys], xerr=_bars(xs), yerr=_bars(ys), label=name,
            marker=_MARKS[number % len(_MARKS)], color=_COLOURS[number % len(_COLOURS)], markersize=5,
            linewidth=1.0, elinewidth=0.6, alpha=0.9,
        )  # fmt: skip
    marked = [point for points in curves.values() for point in points if point.marked]
    if marked:
        panel.plot(
            [scaled(point.x, scatter.x)[0] for point in marked],
            [scaled(point.ys[column.name], column)[0] for point in marked],
            linestyle="none", marker="o", markersize=11, markerfacecolor="none", markeredgecolor="black",
            label=scatter.marked,
        )  # fmt: skip
    if column.name in scatter.floors:
        value = scaled(scatter.floors[column.name], column)[0]
        panel.axhline(value, color="#767676", linestyle="--", linewidth=1.1, label="another text's vector")
    panel.grid()
    panel.set_xlabel(cells.header(scatter.x))
    panel.set_title(cells.header(column), loc="left")
    panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]))


def _bars(values: list[tuple[float, float, float]]) -> list[list[float]]:
    below = [value - low for value, low, _ in values]
    return [below, [high - value for value, _, high in values]]
