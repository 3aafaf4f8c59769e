"""From lines to tables: the main one, the paper's, and the sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from unembed.evaluation.figures import Lines
from unembed.evaluation.published import VEC2TEXT
from unembed.evaluation.variants import FLOORS, ORIGINAL, Arm, Plan
from unembed.metrics.denoising import DenoisingAccuracy
from unembed.report.document import Column, Row, Table

PANELS = ("token_accuracy", "token_f1", "exact_match", "cosine", "bleu", "rouge_l")
CALLS_PANELS = ("exact_match", "token_f1", "cosine")
MOST_PANELS = 4
MOST_BINS = 10


@dataclass(frozen=True)
class TargetFacts:
    """What a table says about a model besides its figures."""

    label: str
    facts: dict[str, str]
    step: int | None


@dataclass(frozen=True)
class Tables:
    """A plan, its lines, and the tables that the plan asks for."""

    plan: Plan
    lines: Lines
    targets: Sequence[TargetFacts]
    notes: tuple[str, ...] = ()

    def all(self, *, lengths: bool) -> tuple[Table, ...]:
        """Every table, the main one first."""
        plan = self.plan
        found = [self._main()]
        if plan.models:
            found.append(self._targets("models", "Models", "Model", plan.models))
        if plan.strategies:
            found.append(self._strategies())
        if plan.remask:
            title = "Share that euler-remask masks again"
            found.append(self._sweep("remask", title, "Re-masked share", plan.remask, "remask"))
        if plan.calls:
            found.append(self._calls())
        if plan.checkpoints:
            found.append(self._checkpoints())
        if lengths:
            found.append(self._lengths())
        if plan.noise:
            found.append(self._noise())
        if len({row.language for row in self.lines.rows(plan.base)}) > 1:
            found.append(self._languages())
        if plan.denoising:
            found.append(self._denoising())
        return tuple(found)

    def _main(self) -> Table:
        base = self.lines.line(self.plan.base, self.plan.base.strategy)
        return self._table("main", "Recovered from the vector", "Text from", [base, *self._floors()])

    def _strategies(self) -> Table:
        rows = [self.lines.line(arm, arm.strategy) for arm in self.plan.strategies]
        return self._table("strategies", "Decoding strategies", "Strategy", [*rows, *self._floors()])

    def _targets(self, name: str, title: str, axis: str, arms: Sequence[Arm]) -> Table:
        rows = []
        for arm in arms:
            target = self.targets[arm.target]
            rows.append(self.lines.line(arm, target.label, facts=target.facts))
        several = len({arm.target for arm in self.plan.floors}) > 1
        for arm in arms if several else arms[:1]:
            suffix = f", {self.targets[arm.target].label}" if several else ""
            rows += self._floors(arm.target, suffix)
        return self._table(name, title, axis, rows)

    def _checkpoints(self) -> Table:
        arms = self.plan.checkpoints
        steps = {arm: self.targets[arm.target].step for arm in arms}
        known = {arm: step for arm, step in steps.items() if step is not None}
        if len(set(known.values())) < len(arms):
            return self._targets("checkpoints", "Milestones", "Checkpoint", arms)
        rows = [
            self.lines.line(arm, f"{step:,}", x=float(step))
            for arm, step in sorted(known.items(), key=lambda pair: pair[1])
        ]
        return self._table(
            "checkpoints", "Milestones", "Training steps", [*rows, *self._floors()], scale="linear"
        )

    def _sweep(self, name: str, title: str, axis: str, arms: Sequence[Arm], over: str) -> Table:
        values = [float(getattr(arm, over)) for arm in arms]
        rows = [self.lines.line(arm, f"{value:g}", x=value) for arm, value in zip(arms, values, strict=True)]
        return self._table(name, title, axis, [*rows, *self._floors()], scale="linear")

    def _noise(self) -> Table:
        table = self._sweep(
            "noise", "Leakage under Gaussian noise", "Noise / vector", self.plan.noise, "noise"
        )
        note = (
            "Noise / vector: expected length of the noise, relative to the vector's. The model was not "
            "trained for noise. The floors and the cosine are those of the vectors without noise."
        )
        return table.model_copy(update={"scale": "symlog", "mark_best": False, "notes": (*table.notes, note)})

    def _calls(self) -> Table:
        rows = [self.lines.line(arm, f"{arm.calls:,}", x=float(arm.calls or 0)) for arm in self.plan.calls]
        table = self._table(
            "encoder-calls", "With an encoder at hand", "Encoder calls at most", [*rows, *self._floors()]
        )
        measured = {column.name for column in table.columns}
        notes = (
            "Encoder calls: texts that the search had embedded. One search was run, with the largest number; "
            "the others are its beginning. At 0 the encoder is not used.",
            *table.notes,
        )
        return table.model_copy(
            update={
                "scale": "symlog",
                "mark_best": False,
                "panels": tuple(name for name in CALLS_PANELS if name in measured),
                "notes": notes,
                "references": tuple(one for one in VEC2TEXT if measured & set(one.values)),
            }
        )

    def _lengths(self) -> Table:
        ranges = bins([row.length for row in self.lines.rows(self.plan.base)])
        rows = []
        for arm in (self.plan.base, *self.plan.floors_of(self.plan.base.target)):
            who = _who(arm)
            for low, high in ranges:
                some = [row for row in self.lines.rows(arm) if low <= row.length <= high]
                label = f"{low}" if low == high else f"{low}-{high}"
                middle = (low + high) / 2
                facts = {"Text from": who}
                rows.append(self.lines.line(arm, label, rows=some, x=middle, curve=who, facts=facts))
        table = self._table("lengths", "By length of the text", "Tokens", rows, scale="linear")
        return table.model_copy(update={"mark_best": False})

    def _languages(self) -> Table:
        base = self.lines.rows(self.plan.base)
        rows = [
            self.lines.line(self.plan.base, name, rows=[row for row in base if row.language == name])
            for name in sorted({row.language for row in base})
        ]
        table = self._table("languages", "By language", "Language", [*rows, *self._floors()])
        return table.model_copy(update={"mark_best": False})

    def _denoising(self) -> Table:
        rows = []
        for arm in self.plan.denoising:
            assert arm.ratio is not None
            metric = DenoisingAccuracy(arm.ratio)
            figure = self.lines.figure(metric, self.lines.rows(arm))
            rows.append(Row(label=f"{arm.ratio:g}", x=arm.ratio, figures={metric.name: figure}))
        column = Column(
            name=DenoisingAccuracy.name, label="Denoising accuracy", percent=True, best="high",
            signature="teacher-forced, one pass; the tokens that are not masked are given",
        )  # fmt: skip
        notes = ["Not token accuracy: the model is shown every token that is not masked, and the length."]
        free = self.lines.line(self.plan.base, "").figures.get("token_accuracy")
        if free is not None and free.low is not None and free.high is not None:
            notes.append(
                "Token accuracy of the same model on the same texts, from all positions masked: "
                f"{free.value:.1%} [{free.low:.1%}, {free.high:.1%}]."
            )
        return Table(
            name="denoising", title="Denoising accuracy @ r", axis="Mask ratio r", scale="linear",
            columns=(column,), panels=(column.name,), rows=tuple(rows), notes=tuple(notes), mark_best=False,
        )  # fmt: skip

    def _floors(self, target: int | None = None, suffix: str = "") -> list[Row]:
        arms = self.plan.floors_of(self.plan.base.target if target is None else target)
        return [self.lines.line(arm, _who(arm) + suffix) for arm in arms]

    def _table(
        self, name: str, title: str, axis: str, rows: Sequence[Row], *, scale: str = "category"
    ) -> Table:
        measured = {metric.name for metric in self.lines.metrics}
        return Table.model_validate(
            {
                "name": name,
                "title": title,
                "axis": axis,
                "scale": scale,
                "columns": self._columns,
                "panels": tuple(panel for panel in PANELS if panel in measured)[:MOST_PANELS],
                "rows": tuple(rows),
                "notes": self.notes,
            }
        )

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return self.lines.columns()


def _who(arm: Arm) -> str:
    return ORIGINAL if arm.kind == "original" else FLOORS.get(arm.kind, arm.strategy)


def bins(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of lengths, both ends included: one length each, or wider ones where there are many.

    Every range holds at least one text.
    """
    low, high = min(lengths), max(lengths)
    width = -(-(high - low + 1) // MOST_BINS)
    ranges = [(first, min(first + width - 1, high)) for first in range(low, high + 1, width)]
    return [(a, b) for a, b in ranges if any(a <= length <= b for length in lengths)]
