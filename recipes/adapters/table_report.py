"""The table of adapters as Markdown, from the rows that are there: it measures nothing and loads no model.

A figure's interval is a 95 % bootstrap interval over texts; in a mean of kinds each kind counts alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from table_rows import ALONE, METRICS, Run, read_run

from unembed.evaluation.rows import Row
from unembed.metrics.base import Metric
from unembed.metrics.figure import Figure, estimate_mean
from unembed.metrics.registry import make_metrics
from unembed.storage import PLAN_NAME, read_json, read_json_rows

TIMES_NAME, BASE_NAME = "times.jsonl", "base.json"
MEAN = "mean"
SHOWN = ("token_f1", "exact_match", "rouge_l")

# What others published, with the conditions that it holds under.
PUBLISHED = (
    "For scale, ALGEN (Chen et al., 2025, arXiv:2502.11308): 1,000 pairs, all-MiniLM-L6-v2 as the victim, "
    "passages like MS MARCO's: exact match 0.0 %, token F1 22 %, ROUGE-L 14.9, by its published predictions. "
    "Other and longer texts, another model: where the field is, not a comparison."
)


class Timed(BaseModel):
    """How long it took from an encoder's name to the first sentence."""

    model_config = ConfigDict(frozen=True)

    encoder: str
    pairs: int
    fitting: float = Field(description="Seconds: loading both encoders, embedding the pairs, the fit.")
    inverting: float = Field(description="Seconds: loading the adapter, the first sentence.")
    threads: int
    load: float = Field(description="Of the machine when it began: 0 is idle.")


class Column(NamedTuple):
    """One attack. The order is the table's: the vector alone, fine-tuned, with the encoder."""

    calls: int | None
    minutes: float
    size: int

    @property
    def label(self) -> str:
        if self.calls is not None:
            return f"{self.size:,}, {self.calls:,} calls"
        return f"{self.size:,}" + (f", tuned {self.minutes:g} min" if self.minutes else "")

    @property
    def rank(self) -> tuple[bool, int, float, int]:
        return self.calls is not None, self.calls or 0, self.minutes, self.size


class Cell(NamedTuple):
    """What was measured in a column of an encoder's line."""

    plan: dict[str, Any]
    rows: list[Row]


class Report:
    """All runs of one base's folder."""

    def __init__(self, folder: Path, *, order: Sequence[str] = (), kinds: Sequence[str] = ()) -> None:
        self.base = read_json(folder / BASE_NAME)
        runs = [read_run(plan.parent) for plan in sorted(folder.glob(f"*/{PLAN_NAME}"))]
        sizes = [run.size for run, _, _ in runs if run.size is not None]
        guided = [run.size for run, _, _ in runs if run.size is not None and run.calls]
        self.cells: dict[str, dict[Column, Cell]] = {}
        self.native = ""
        for run, plan, rows in runs:
            if run.size is None:
                self.native = run.encoder
                # It has no pairs: its figures stand where the others have the most, or are searched.
                place = max(guided if run.calls and guided else sizes or [0])
            else:
                place = run.size
            for column, variant in _columns(run, place):
                some = [
                    row for row in rows if row.variant == variant and (not kinds or row.language in kinds)
                ]
                if some:
                    cells = self.cells.setdefault(run.encoder, {})
                    cells[column] = Cell(plan, sorted(some, key=lambda row: (row.language, row.sample)))
        rank = {name: number for number, name in enumerate(order)}
        self.encoders = sorted(
            self.cells, key=lambda name: (name == self.native, rank.get(name, len(rank)), name)
        )
        self.columns = sorted(
            {column for cells in self.cells.values() for column in cells}, key=lambda one: one.rank
        )
        there = {
            row.language for cells in self.cells.values() for cell in cells.values() for row in cell.rows
        }
        self.kinds = [kind for kind in kinds if kind in there] or sorted(there)
        self.metrics: dict[str, Metric] = {one.name: one for one in make_metrics(METRICS)}
        times = folder / TIMES_NAME
        self.times = read_json_rows(times, Timed)[0] if times.exists() else []

    def markdown(self) -> str:
        """Everything."""
        return "\n\n".join(part for part in self._parts() if part)

    def _parts(self) -> Iterator[str]:
        base = self.base
        yield (
            f"Base: {base['name']} ({base['digest'][:12]}), trained for {base['encoder']}. The length is "
            f"unknown; kinds of text: {', '.join(self.kinds)}; 95 % bootstrap intervals."
        )
        for name in SHOWN:
            metric = self.metrics[name]
            yield f"**{metric.label} %, {MEAN} of the kinds**"
            yield self._table([name], [MEAN], show_kind=False)
        for name in SHOWN[:2]:
            yield f"**{self.metrics[name].label} %, by kind**"
            yield self._table([name], self.kinds, show_kind=True)
        cased = [
            name for name in self.encoders if any(cell.plan["cased"] for cell in self.cells[name].values())
        ]
        if cased:
            yield "**Exact as written / ignoring case %, where the encoder tells case apart**"
            yield self._table(["as_written", "ignoring_case"], [MEAN], show_kind=False, encoders=cased)
        yield self._calls()
        yield self._times()
        yield PUBLISHED

    def _table(
        self,
        metrics: Sequence[str],
        kinds: Sequence[str],
        *,
        show_kind: bool,
        encoders: Sequence[str] | None = None,
    ) -> str:
        head = ["encoder", *(["texts"] if show_kind else []), "n", *(column.label for column in self.columns)]
        lines = [_line(head), "|---" * len(head) + "|"]
        for name in self.encoders if encoders is None else encoders:
            for kind in kinds:
                cells = [self._cell(name, column, kind, metrics) for column in self.columns]
                label = f"*{name}, its own model*" if name == self.native else name
                lines.append(_line([label, *([kind] if show_kind else []), self._count(name, kind), *cells]))
        return "\n".join(lines)

    def _cell(self, encoder: str, column: Column, kind: str, metrics: Sequence[str]) -> str:
        cell = self.cells[encoder].get(column)
        found = [None if cell is None else self.figure(cell, kind, name) for name in metrics]
        if cell is None or None in found:
            return ""
        pairs = (cell.plan["adapter"] or {}).get("pairs", column.size)
        # A few texts less than asked for are a round number; thousands less are not.
        fewer = f" ({pairs:,} pairs)" if pairs < 0.99 * column.size else ""
        tuning = cell.plan["fine_tuning"]
        kept = "" if tuning is None or tuning["kept"] else " (not kept)"
        return " / ".join(_percent(one) for one in found if one is not None) + fewer + kept

    def figure(self, cell: Cell, kind: str, metric: str) -> Figure | None:
        """A metric of one kind, or of all alike; None while a kind has no rows."""
        groups = []
        for one in self.kinds if kind == MEAN else [kind]:
            rows = [row.statistics[metric] for row in cell.rows if row.language == one]
            if not rows:
                return None
            groups.append(np.array(rows, dtype=np.float64))
        return estimate_mean(self.metrics[metric], groups)

    def _count(self, encoder: str, kind: str) -> str:
        """Texts, and texts that were searched."""
        counts: dict[bool, set[int]] = {}
        for column, cell in self.cells[encoder].items():
            some = sum(kind in (MEAN, row.language) for row in cell.rows)
            counts.setdefault(column.calls is not None, set()).add(some)
        parts = []
        for searched in sorted(counts):
            low, high = min(counts[searched]), max(counts[searched])
            parts.append(
                (f"{low:,}" if low == high else f"{low:,}-{high:,}") + (" searched" if searched else "")
            )
        return ", ".join(parts)

    def _calls(self) -> str:
        """What the searches used."""
        columns = [column for column in self.columns if column.calls]
        if not columns:
            return ""
        head = ["encoder", *(f"{column.calls:,} at most" for column in columns), "seconds a text"]
        lines = ["**Encoder calls used, mean over texts**", "", _line(head), "|---" * len(head) + "|"]
        for name in self.encoders:
            there = self.cells[name]
            used = [
                _mean([row.encoder_calls for row in there[one].rows]) if one in there else ""
                for one in columns
            ]
            seconds = _mean([row.seconds for row in there[columns[-1]].rows]) if columns[-1] in there else ""
            if any(used):
                lines.append(_line([name, *used, seconds]))
        return "\n".join(lines)

    def _times(self) -> str:
        """From an encoder's name to the first sentence; the last time that it was measured."""
        if not self.times:
            return ""
        head = [
            "encoder",
            "pairs",
            "minutes to the first sentence",
            "embedding and fit, s",
            "inversion, s",
            "threads",
        ]
        lines = [
            "**From nothing to the first sentence**",
            "",
            _line([*head, "load"]),
            "|---" * (len(head) + 1) + "|",
        ]
        for one in {one.encoder: one for one in self.times}.values():
            minutes = (one.fitting + one.inverting) / 60
            numbers = (f"{one.pairs:,}", f"{minutes:.1f}", f"{one.fitting:.0f}", f"{one.inverting:.1f}")
            lines.append(_line([one.encoder, *numbers, f"{one.threads}", f"{one.load:.1f}"]))
        return "\n".join(lines)


def _columns(run: Run, place: int) -> list[tuple[Column, str]]:
    """The columns that a run fills, and the variant of its rows."""
    if run.calls:
        return [(Column(calls, run.minutes, place), f"calls={calls}") for calls in run.calls]
    return [(Column(None, run.minutes, place), ALONE)]


def _percent(figure: Figure) -> str:
    value = f"{100 * figure.value:.1f}"
    if figure.low is None or figure.high is None:
        return value
    return f"{value} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.0f}" if known else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
