"""From measured rows to rows of a table: each metric over some texts, with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.evaluation.rows import Row
from unembed.evaluation.variants import Variant
from unembed.metrics.base import MeanMetric, Metric, column
from unembed.metrics.figure import Figure, estimate, estimate_mean
from unembed.report.document import Column
from unembed.report.document import Row as TableRow

_DIGITS = {"rouge_l": 3, "cosine": 3}
AMBIGUOUS = "ambiguous"


class _Counted(MeanMetric):
    """A mean like others, but of what was counted on the way and not computed from texts."""

    bounds = (0.0, float("inf"))

    def __init__(self, name: str, label: str) -> None:
        self.name, self.label = name, label

    def signature(self, languages: Sequence[str]) -> str:
        return ""

    def statistics(self, pairs: Sequence[object]) -> NDArray[np.float64]:
        raise TypeError(f"{self.label} are counted, not computed from texts")


_PASSES = _Counted("forward_passes", "Forward passes")
_CALLS = _Counted("encoder_calls", "Encoder calls")
_AS_NEAR = _Counted(AMBIGUOUS, "Other text as near")
_AS_NEAR_MEANS = "not the original, and yet at least as near to the vector, by the encoder that guided"
MILLISECONDS = "milliseconds"


class Figures:
    """The measured rows of a run, and the figures over any part of them; each is computed once."""

    def __init__(self, rows: Iterable[Row], metrics: Sequence[Metric], *, seed: int) -> None:
        self.metrics = metrics
        self._seed = seed
        self._by_variant: dict[str, list[Row]] = {}
        for row in rows:
            self._by_variant.setdefault(row.variant, []).append(row)
        for group in self._by_variant.values():
            group.sort(key=lambda row: row.sample)  # figures do not depend on the order of the work
        self._whole: dict[str, dict[str, Figure]] = {}

    def rows(self, variant: Variant) -> list[Row]:
        """The rows of one variant, in the order of the samples."""
        return self._by_variant.get(variant.name, [])

    def columns(self) -> tuple[Column, ...]:
        """The metrics' columns, then the costs'."""
        languages = sorted({row.language for rows in self._by_variant.values() for row in rows})
        measured = [
            Column(
                name=metric.name,
                label=metric.label,
                percent=metric.percent,
                digits=_DIGITS.get(metric.name, 1),
                best="high" if metric.best == metric.bounds[1] else "low",
                signature=metric.signature(languages),
            )
            for metric in self.metrics
        ]
        every = [row for rows in self._by_variant.values() for row in rows]
        if any(AMBIGUOUS in row.statistics for row in every):
            measured.append(
                Column(name=AMBIGUOUS, label=_AS_NEAR.label, percent=True, signature=_AS_NEAR_MEANS)
            )
        if any(row.encoder_calls is not None for row in every):
            measured.append(Column(name=_CALLS.name, label=_CALLS.label))
        passes = Column(name=_PASSES.name, label=_PASSES.label)
        return (*measured, passes, Column(name=MILLISECONDS, label="ms per text"))

    def table_row(
        self,
        variant: Variant,
        label: str,
        *,
        rows: list[Row] | None = None,
        x: float | None = None,
        curve: str = "",
        facts: dict[str, str] | None = None,
    ) -> TableRow:
        """A variant's figures, over all of its rows or over some."""
        if rows is None and variant.name not in self._whole:
            self._whole[variant.name] = self._figures(self.rows(variant), timed=True)
        # Texts of one length were decoded among others: their time is not their own.
        figures = self._whole[variant.name] if rows is None else self._figures(rows, timed=False)
        return TableRow(
            label=label, x=x, curve=curve, floor=variant.kind != "model", facts=facts or {}, figures=figures
        )

    def mean_row(self, variant: Variant, label: str, parts: Sequence[list[Row]]) -> TableRow:
        """The metrics' means over parts of a variant's rows, each part counting alike."""
        figures = {
            metric.name: estimate_mean(metric, [_statistics(metric, part) for part in parts], seed=self._seed)
            for metric in self.metrics
        }
        return TableRow(label=label, floor=variant.kind != "model", figures=figures)

    def figure(self, metric: Metric, rows: list[Row]) -> Figure:
        """One metric of some rows."""
        return estimate(metric, _statistics(metric, rows), seed=self._seed)

    def _figures(self, rows: list[Row], *, timed: bool) -> dict[str, Figure]:
        figures = {metric.name: self.figure(metric, rows) for metric in self.metrics}
        counted: dict[_Counted, list[float | None]] = {
            _PASSES: [row.forward_passes for row in rows],
            _CALLS: [row.encoder_calls for row in rows],
            _AS_NEAR: [row.statistics.get(AMBIGUOUS, (None,))[0] for row in rows],
        }
        for metric, counts in counted.items():
            values = [float(count) for count in counts if count is not None]
            if values:
                figures[metric.name] = estimate(metric, column(values), seed=self._seed)
        seconds = [row.seconds for row in rows if row.seconds is not None]
        if timed and seconds:
            # A batch has one time for all of its texts: there is no spread over texts to speak of.
            mean = 1000 * sum(seconds) / len(seconds)
            figures[MILLISECONDS] = Figure(value=mean, low=None, high=None, n=len(seconds))
        return figures


def _statistics(metric: Metric, rows: Sequence[Row]) -> NDArray[np.float64]:  # [n, k]
    return np.array([row.statistics[metric.name] for row in rows], dtype=np.float64)
