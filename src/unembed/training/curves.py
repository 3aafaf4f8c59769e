"""The paper's figure 2, of one run: loss and bound, and free-running accuracy, against the steps.

Rendered from log.jsonl alone; nothing is computed here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unembed.errors import UsageError
from unembed.extras import require
from unembed.storage import atomic_write
from unembed.training.log import LOG, read_log

# Okabe and Ito's colours, which the colour-blind can tell apart; line styles differ as well.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#9aa0a6"
_STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "unembed",  # the same log gives the same file
}


def draw_curves(folder: Path, *, formats: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Draw `curves.png` and `curves.svg` into the folder of a run."""
    matplotlib = require("matplotlib", extra="train", purpose="A plot")
    figures = require("matplotlib.figure", extra="train", purpose="A plot")
    lines = read_log(folder)
    if not any(line["kind"] in ("train", "validation", "sample") for line in lines):
        raise UsageError(
            f"{folder / LOG} has nothing to draw yet.", hint="Give the output folder of 'unembed train'."
        )
    with matplotlib.rc_context(_STYLE):
        # Without pyplot there is no window, no global state and no backend to choose.
        figure = figures.Figure(figsize=(9.2, 3.4), layout="constrained", dpi=160)
        left, right = figure.subplots(1, 2, sharex=True)
        _losses(left, lines)
        _recovery(right, lines)
        return [_save(figure, folder / f"curves.{kind}", kind) for kind in formats]


def _losses(panel: Any, lines: list[dict[str, Any]]) -> None:
    """The denoising loss of the training batches, and the bound on validation texts."""
    _curve(panel, lines, "train", "denoising", "training loss", color=_GREY, linewidth=0.9)
    _curve(panel, lines, "validation", "bound", "validation bound", color=_BLUE, linewidth=1.8, marker="o")
    panel.set(title="Loss", xlabel="step", ylabel="nats per token")
    panel.set_ylim(bottom=0)
    _legend(panel)


def _recovery(panel: Any, lines: list[dict[str, Any]]) -> None:
    """What comes back from all positions masked; a teacher-forced figure does not belong here."""
    for name, label, colour, dashes in (
        ("f1", "token F1", _GREEN, "--"),
        ("accuracy", "token accuracy", _BLUE, "-"),
        ("exact", "exact match", _ORANGE, ":"),
    ):
        _curve(panel, lines, "sample", name, label, color=colour, linestyle=dashes, marker="o")
    sizes = [line["n"] for line in lines if line["kind"] == "sample"]
    count = f" (n = {sizes[-1]:,})" if sizes else ""
    panel.set(title=f"Recovered from all masked{count}", xlabel="step", ylabel="share")
    panel.set_ylim(0, 1)
    _legend(panel)


def _curve(panel: Any, lines: list[dict[str, Any]], kind: str, name: str, label: str, **style: Any) -> None:
    points = [(line["step"], line[name]) for line in lines if line["kind"] == kind and name in line]
    if points:
        # Markers only where they do not run into each other.
        style["markersize"] = 3.5 if len(points) <= 30 else 0
        panel.plot(*zip(*points, strict=True), label=label, **style)


def _legend(panel: Any) -> None:
    if panel.get_legend_handles_labels()[0]:
        panel.legend(frameon=False, fontsize=8.5)


def _save(figure: Any, path: Path, kind: str) -> Path:
    with atomic_write(path) as file:
        figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return path
