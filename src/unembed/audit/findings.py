"""What an attacker got, from his rows and the store's texts: each rate beside its floors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unembed.audit.attack_rows import AttackRow
from unembed.audit.audit_report import Floor, FloorName, Measure, PersonalKind
from unembed.audit.case import Case
from unembed.audit.floors_of_rows import nearest_public, nearest_texts, shuffled
from unembed.audit.public_texts import PublicTexts
from unembed.audit.shares import (
    difference_figure,
    mean_figure,
    pooled_difference,
    pooled_figure,
    share_figure,
)
from unembed.canaries import canary_hits
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1
from unembed.metrics.figure import Figure
from unembed.personal import Entity, Extent, recovered

Doubles = NDArray[np.float64]
Entities = dict[int, list[Entity]]  # of the attacked texts, by target

FLOOR_LABELS: dict[FloorName, str] = {
    "shuffled": "Given another row's vector",
    "nearest": "Nearest other text of the collection",
    "public": "Nearest of {count:,} public sentences",
}


@dataclass(frozen=True)
class Findings:
    """The measures of one attacker, and what was measured on each of his rows."""

    measures: tuple[Measure, ...]
    personal: tuple[PersonalKind, ...]
    statistics: dict[int, dict[str, float]]  # by target


def find(
    case: Case, rows: Sequence[AttackRow], entities: Entities | None, public: PublicTexts | None = None
) -> Findings:
    """Compare what an attacker recovered with the texts; rows of canaries count apart."""
    seed = case.config.seed
    usual = [row for row in rows if row.canary is None]
    statistics: dict[int, dict[str, float]] = {row.target: {} for row in rows}
    measures: list[Measure] = []
    personal: tuple[PersonalKind, ...] = ()
    if usual and case.with_texts:
        compared = _Compared(case, usual, public)
        exact = compared.measure(
            "exact", "Word for word", lambda t, r: float(exact_match(t, r)), share_figure
        )
        f1 = compared.measure("f1", "Words in common (token F1)", compared.f1, mean_figure)
        measures += [exact[0], f1[0]]
        for row, is_exact, value in zip(usual, exact[1], f1[1], strict=True):
            statistics[row.target] |= {"exact": float(is_exact), "f1": round(float(value), 4)}
        if entities is not None:
            pii, personal, counts = _personal(compared, usual, entities, seed)
            measures += [pii] if pii is not None else []
            for row, (hits, there) in zip(usual, counts, strict=True):
                statistics[row.target] |= {"pii": float(hits), "pii_total": float(there)}
    planted = [row for row in rows if row.canary is not None]
    if planted:
        measure, hits_by_row = _canaries(case, planted, usual, seed)
        measures.append(measure)
        for row, hit in zip(planted, hits_by_row, strict=True):
            statistics[row.target] |= {"canary": hit}
    return Findings(tuple(measures), personal, statistics)


class _Compared:
    """One attacker's texts beside the store's, and what the floors put in their place."""

    def __init__(self, case: Case, rows: Sequence[AttackRow], public: PublicTexts | None) -> None:
        self.case, self.seed = case, case.config.seed
        self.targets = [case.targets[row.target].text or "" for row in rows]
        self.found = [row.recovered or "" for row in rows]
        numbers = [row.target for row in rows]
        # By floor: texts that take the place of what was recovered, a list per turn.
        self.instead: dict[FloorName, list[list[str]]] = {}
        others = shuffled(len(rows), seed=self.seed)  # [k, n]
        if len(others):
            self.instead["shuffled"] = [[self.found[other] for other in turn] for turn in others.tolist()]
        if (nearest := nearest_texts(case, numbers)) is not None:
            self.instead["nearest"] = [nearest]
        if public is not None:
            self.instead["public"] = [nearest_public(case, numbers, public)]
        self._public = 0 if public is None else len(public.texts)
        self._tokens: dict[str, list[int]] = {}

    def f1(self, target: str, recovered: str) -> float:
        return token_f1(self._read(target), self._read(recovered))

    def _read(self, text: str) -> list[int]:
        if text not in self._tokens:
            [self._tokens[text]] = self.case.tokens([text])
        return self._tokens[text]

    def floors(self, value: Callable[[int, str], float]) -> dict[FloorName, Doubles]:
        """By floor: what is found of row i in the texts that take its place, on average.  # [n] each"""
        return {
            name: np.mean([[value(row, text) for row, text in enumerate(turn)] for turn in turns], axis=0)
            for name, turns in self.instead.items()
        }

    def shown(self, name: FloorName, figure: Figure) -> Floor:
        return Floor(name=name, label=FLOOR_LABELS[name].format(count=self._public), figure=figure)

    def measure(
        self,
        name: Literal["exact", "f1"],
        label: str,
        compare: Callable[[str, str], float],
        figure: Callable[..., Figure],
    ) -> tuple[Measure, Doubles]:
        values = np.array([compare(t, r) for t, r in zip(self.targets, self.found, strict=True)])
        floors = self.floors(lambda row, text: compare(self.targets[row], text))
        made = Measure(
            name=name,
            label=label,
            figure=figure(values, seed=self.seed),
            floors=tuple(self.shown(one, figure(some, seed=self.seed)) for one, some in floors.items()),
            leaked=difference_figure(values - _highest(floors, len(values)), seed=self.seed),
            found=int(values.sum()) if name == "exact" else None,
            total=len(values) if name == "exact" else None,
        )
        return made, values


def _highest(floors: dict[FloorName, Doubles], count: int) -> Doubles:
    """The floor that finds most; zeros where there is none.  # [n]"""
    return max(floors.values(), key=lambda values: float(values.sum()), default=np.zeros(count))


@dataclass(frozen=True)
class _Tally:
    """Personal data of one kind, or of all, counted per row."""

    whole: Doubles  # [n]
    part: Doubles
    total: Doubles
    floors: dict[FloorName, Doubles]  # whole, by each floor

    @property
    def highest(self) -> Doubles:
        return _highest(self.floors, len(self.whole))


def _personal(
    compared: _Compared, rows: Sequence[AttackRow], entities: Entities, seed: int
) -> tuple[Measure | None, tuple[PersonalKind, ...], list[tuple[int, int]]]:
    """Personal data of the texts that came back whole, by kind and all together."""
    mine = [entities.get(row.target, []) for row in rows]
    kinds = sorted({entity.kind.value for some in mine for entity in some})
    counts = [(_whole(some, text), len(some)) for some, text in zip(mine, compared.found, strict=True)]
    if not kinds:
        return None, (), counts

    def tally(kind: str | None) -> _Tally:
        wanted = [[one for one in some if kind in (None, one.kind.value)] for some in mine]
        whole, part = np.zeros(len(rows)), np.zeros(len(rows))
        for row, (some, text) in enumerate(zip(wanted, compared.found, strict=True)):
            for one in recovered(some, text):
                whole[row] += one.extent is Extent.WHOLE
                part[row] += one.extent is Extent.PART
        total = np.array([len(some) for some in wanted], dtype=np.float64)
        return _Tally(whole, part, total, compared.floors(lambda row, text: _whole(wanted[row], text)))

    by_kind = []
    for kind in kinds:
        one = tally(kind)
        by_kind.append(
            PersonalKind(
                kind=kind,
                total=int(one.total.sum()),
                found=int(one.whole.sum()),
                part=int(one.part.sum()),
                guessed=round(float(one.highest.sum()), 2),
                figure=pooled_figure(one.whole, one.total, seed=seed),
                leaked=pooled_difference(one.whole, one.highest, one.total, seed=seed),
            )
        )
    by_kind.sort(key=lambda one: -one.total)
    every = tally(None)
    pii = Measure(
        name="pii",
        label="Personal data",
        figure=pooled_figure(every.whole, every.total, seed=seed),
        floors=tuple(
            compared.shown(name, pooled_figure(some, every.total, seed=seed))
            for name, some in every.floors.items()
        ),
        leaked=pooled_difference(every.whole, every.highest, every.total, seed=seed),
        found=int(every.whole.sum()),
        total=int(every.total.sum()),
    )
    return pii, tuple(by_kind), counts


def _whole(entities: Sequence[Entity], text: str) -> int:
    if not entities:
        return 0
    return sum(one.extent is Extent.WHOLE for one in recovered(entities, text))


def _canaries(
    case: Case, planted: Sequence[AttackRow], usual: Sequence[AttackRow], seed: int
) -> tuple[Measure, list[float]]:
    """Secrets that came back from their own vectors; the floor is their being in any other row's text."""
    hits, guesses = [], []
    elsewhere = [row.recovered or "" for row in usual]
    for row in planted:
        canary = case.targets[row.target].canary
        assert canary is not None
        [own] = canary_hits([canary], [row.recovered or ""])
        [other] = canary_hits([canary], elsewhere) if elsewhere else [None]
        hits.append(float(own.extent is Extent.WHOLE))
        guesses.append(float(other is not None and other.extent is Extent.WHOLE))
    floor = Floor(name="shuffled", label="In any other row's text", figure=share_figure(guesses, seed=seed))
    measure = Measure(
        name="canary",
        label="Planted secrets",
        figure=share_figure(hits, seed=seed),
        floors=(floor,),
        leaked=difference_figure(np.array(hits) - np.array(guesses), seed=seed),
        found=int(sum(hits)),
        total=len(hits),
    )
    return measure, hits
