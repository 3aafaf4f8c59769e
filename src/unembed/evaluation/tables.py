"""From figures to tables: the main one, the paper's, and one per comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from unembed.evaluation.metric_figures import Figures
from unembed.evaluation.variants import FLOORS, ORIGINAL, Plan, Variant
from unembed.metrics.denoising import DenoisingAccuracy
from unembed.metrics.word_recall import WordRecall
from unembed.report.document import Column, Reference, Row, Table

PANELS = ("token_accuracy", "token_f1", "exact_match", "cosine", "bleu", "rouge_l")
CALLS_PANELS = ("exact_match", "token_f1", "cosine")
MOST_PANELS = 4
MOST_BINS = 10

# Figures that others published, with the conditions they hold under, and where they stand.
_OWN = "Vectors and cosine are those of each model's own encoder, tokens those of its own tokenizer."
_OTHERS = "Another encoder, other texts and another model than here: a reference, not a comparison."

# The search for a text whose vector comes nearer is Vec2Text's idea (Morris et al., 2023, arXiv:2310.06816).
VEC2TEXT = (
    Reference(
        label="Vec2Text, published",
        values={"exact_match": 0.92},
        conditions=f"Vec2Text with many correction steps, texts of 32 tokens. {_OTHERS}",
        source="Morris et al., Text Embeddings Reveal (Almost) As Much As Text, 2023, abstract",
    ),
    Reference(
        label="Vec2Text, 20 steps",
        values={"exact_match": 0.578},
        conditions="Vec2Text's public corrector for GTR-base, 20 correction steps, no beam, texts of 32 "
        f"tokens of its Natural Questions data's validation side. {_OTHERS}",
        source="a user's run of the public code, in its repository's question 'Reproducing results from "
        "paper', March 2024",
    ),
)


@dataclass(frozen=True)
class TargetFacts:
    """What a table says about a model besides its figures."""

    label: str
    facts: dict[str, str]
    step: int | None


@dataclass(frozen=True)
class Tables:
    """A plan, its figures, and the tables that the plan asks for."""

    plan: Plan
    figures: Figures
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
            found.append(self._over_values("remask", title, "Re-masked share", plan.remask, "remask"))
        if plan.calls:
            found.append(self._calls())
        if plan.checkpoints:
            found.append(self._checkpoints())
        if lengths:
            found.append(self._lengths())
        if plan.noise:
            found.append(self._noise())
        if len({row.language for row in self.figures.rows(plan.base)}) > 1:
            found.append(self._languages())
        if plan.words:
            found.append(self._words())
        if plan.denoising:
            found.append(self._denoising())
        return tuple(found)

    def _main(self) -> Table:
        base = self.figures.table_row(self.plan.base, self.plan.base.strategy)
        return self._table("main", "Recovered from the vector", "Text from", [base, *self._floors()])

    def _strategies(self) -> Table:
        rows = [self.figures.table_row(variant, variant.strategy) for variant in self.plan.strategies]
        return self._table("strategies", "Decoding strategies", "Strategy", [*rows, *self._floors()])

    def _targets(self, name: str, title: str, axis: str, variants: Sequence[Variant]) -> Table:
        rows = []
        for variant in variants:
            target = self.targets[variant.target]
            rows.append(self.figures.table_row(variant, target.label, facts=target.facts))
        several = len({variant.target for variant in self.plan.floors}) > 1
        for variant in variants if several else variants[:1]:
            suffix = f", {self.targets[variant.target].label}" if several else ""
            rows += self._floors(variant.target, suffix)
        table = self._table(name, title, axis, rows)
        if len({self.targets[variant.target].facts.get("Encoder") for variant in variants}) > 1:
            table = table.model_copy(update={"notes": (*table.notes, _OWN)})
        return table

    def _checkpoints(self) -> Table:
        variants = self.plan.checkpoints
        steps = {variant: self.targets[variant.target].step for variant in variants}
        known = {variant: step for variant, step in steps.items() if step is not None}
        if len(set(known.values())) < len(variants):
            return self._targets("checkpoints", "Milestones", "Checkpoint", variants)
        rows = [
            self.figures.table_row(variant, f"{step:,}", x=float(step))
            for variant, step in sorted(known.items(), key=lambda pair: pair[1])
        ]
        return self._table(
            "checkpoints", "Milestones", "Training steps", [*rows, *self._floors()], scale="linear"
        )

    def _over_values(self, name: str, title: str, axis: str, variants: Sequence[Variant], over: str) -> Table:
        values = [float(getattr(variant, over)) for variant in variants]
        rows = [
            self.figures.table_row(variant, f"{value:g}", x=value)
            for variant, value in zip(variants, values, strict=True)
        ]
        return self._table(name, title, axis, [*rows, *self._floors()], scale="linear")

    def _noise(self) -> Table:
        table = self._over_values(
            "noise", "Leakage under Gaussian noise", "Noise / vector", self.plan.noise, "noise"
        )
        note = (
            "Noise / vector: expected length of the noise, relative to the vector's. The model was not "
            "trained for noise. The floors and the cosine are those of the vectors without noise."
        )
        return table.model_copy(update={"scale": "symlog", "mark_best": False, "notes": (*table.notes, note)})

    def _calls(self) -> Table:
        rows = [
            self.figures.table_row(variant, f"{variant.calls:,}", x=float(variant.calls or 0))
            for variant in self.plan.calls
        ]
        table = self._table(
            "encoder-calls", "Guided by an encoder", "Encoder calls at most", [*rows, *self._floors()]
        )
        measured = {column.name for column in table.columns}
        notes = (
            "Encoder calls: texts that the search had embedded. One search was run, with the largest number; "
            "the others are read off it. At 0 the encoder is not used.",
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
        ranges = bins([row.length for row in self.figures.rows(self.plan.base)])
        rows = []
        for variant in (self.plan.base, *self._floor_variants()):
            who = _who(variant)
            for low, high in ranges:
                some = [row for row in self.figures.rows(variant) if low <= row.length <= high]
                label = f"{low}" if low == high else f"{low}-{high}"
                middle = (low + high) / 2
                facts = {"Text from": who}
                rows.append(
                    self.figures.table_row(variant, label, rows=some, x=middle, curve=who, facts=facts)
                )
        table = self._table("lengths", "By length of the text", "Tokens", rows, scale="linear")
        return table.model_copy(update={"mark_best": False})

    def _languages(self) -> Table:
        """By the label of the texts' source: a language, or a kind of text in one (en-mail)."""
        labels = sorted({row.language for row in self.figures.rows(self.plan.base)})
        rows = []
        for variant in dict.fromkeys((self.plan.base, *self.plan.calls[-1:], *self._floor_variants())):
            who = _who(variant) if variant.calls is None else f"{_who(variant)}, {variant.calls:,} calls"
            every = self.figures.rows(variant)
            parts = [[row for row in every if row.language == label] for label in labels]
            facts = {"Text from": who}
            rows += [
                self.figures.table_row(variant, label, rows=part, curve=who, facts=facts)
                for label, part in zip(labels, parts, strict=True)
            ]
            mean = self.figures.mean_row(variant, f"mean of {len(labels)}", parts)
            rows.append(mean.model_copy(update={"curve": who, "facts": facts}))
        kinds = len({label.split("-")[0] for label in labels}) == 1
        title, axis = ("By kind of text", "Kind") if kinds else ("By language", "Language")
        table = self._table("languages", title, axis, rows)
        return table.model_copy(update={"mark_best": False})

    def _words(self) -> Table:
        """Per kind of text as well, where there are several."""
        labels = sorted({row.language for row in self.figures.rows(self.plan.base)})
        rows = []
        for variant in self.plan.words:
            assert variant.likeliest is not None
            metric, every = WordRecall(variant.likeliest), self.figures.rows(variant)
            facts = {"Likeliest words": f"{variant.likeliest}"}
            parts = {label: [row for row in every if row.language == label] for label in labels}
            whole = {"all texts": every} if len(labels) > 1 else {}
            for label, some in (parts | whole).items():
                figures = {metric.name: self.figures.figure(metric, some)}
                rows.append(Row(label=label, curve=metric.label, facts=facts, figures=figures))
        column = Column(
            name=WordRecall.name, label="Word recall", percent=True, best="high",
            signature="different tokens of a text among the lexical head's likeliest; needs no decoding",
        )  # fmt: skip
        return Table(
            name="words", title="Words that can be read off the vector", axis="Texts", scale="category",
            columns=(column,), panels=(column.name,), rows=tuple(rows), mark_best=False,
        )  # fmt: skip

    def _denoising(self) -> Table:
        rows = []
        for variant in self.plan.denoising:
            assert variant.ratio is not None
            metric = DenoisingAccuracy(variant.ratio)
            figure = self.figures.figure(metric, self.figures.rows(variant))
            rows.append(Row(label=f"{variant.ratio:g}", x=variant.ratio, figures={metric.name: figure}))
        column = Column(
            name=DenoisingAccuracy.name, label="Denoising accuracy", percent=True, best="high",
            signature="teacher-forced, one pass; the tokens that are not masked are given",
        )  # fmt: skip
        notes = ["Not token accuracy: the model is shown every token that is not masked, and the length."]
        free = self.figures.table_row(self.plan.base, "").figures.get("token_accuracy")
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
        variants = self._floor_variants(target)
        return [self.figures.table_row(variant, _who(variant) + suffix) for variant in variants]

    def _floor_variants(self, target: int | None = None) -> tuple[Variant, ...]:
        return self.plan.floors_of(self.plan.base.target if target is None else target)

    def _table(
        self, name: str, title: str, axis: str, rows: Sequence[Row], *, scale: str = "category"
    ) -> Table:
        measured = {metric.name for metric in self.figures.metrics}
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
        return self.figures.columns()


def _who(variant: Variant) -> str:
    return ORIGINAL if variant.kind == "original" else FLOORS.get(variant.kind, variant.strategy)


def bins(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of lengths, both ends included: one length each, or wider ones where there are many.

    Every range holds at least one text.
    """
    low, high = min(lengths), max(lengths)
    width = -(-(high - low + 1) // MOST_BINS)
    ranges = [(first, min(first + width - 1, high)) for first in range(low, high + 1, width)]
    return [(a, b) for a, b in ranges if any(a <= length <= b for length in lengths)]
