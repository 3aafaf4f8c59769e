"""What an attacker got, from his rows and the store's texts: each rate beside its floors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unembed.audit.attack_rows import AttackRow
from unembed.audit.audit_report import Floor, Measure, PersonalKind
from unembed.audit.case import Case
from unembed.audit.floors_of_rows import nearest_texts, shuffled
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

FLOOR_LABELS = {
    "shuffled": "Given another row's vector",
    "nearest": "Nearest other text of the collection",
}


@dataclass(frozen=True)
class Findings:
    """The measures of one attacker, and what was measured on each of his rows."""

    measures: tuple[Measure, ...]
    personal: tuple[PersonalKind, ...]
    statistics: dict[int, dict[str, float]]  # by target


def find(case: Case, rows: Sequence[AttackRow], entities: Entities | None) -> Findings:
    """Compare what an attacker recovered with the texts; rows of canaries count apart."""
    seed = case.config.seed
    usual = [row for row in rows if row.canary is None]
    statistics: dict[int, dict[str, float]] = {row.target: {} for row in rows}
    measures: list[Measure] = []
    personal: tuple[PersonalKind, ...] = ()
    if usual and case.with_texts:
        compared = _Compared(case, usual)
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

    def __init__(self, case: Case, rows: Sequence[AttackRow]) -> None:
        self.case, self.seed = case, case.config.seed
        self.targets = [case.targets[row.target].text or "" for row in rows]
        self.found = [row.recovered or "" for row in rows]
        self.others = shuffled(len(rows), seed=self.seed)  # [k, n]
        self.nearest = nearest_texts(case, [row.target for row in rows])
        self._tokens: dict[str, list[int]] = {}

    def f1(self, target: str, recovered: str) -> float:
        return token_f1(self._read(target), self._read(recovered))

    def _read(self, text: str) -> list[int]:
        if text not in self._tokens:
            [self._tokens[text]] = self.case.tokens([text])
        return self._tokens[text]

    def shuffled_values(self, value: Callable[[int, str], float]) -> Doubles | None:
        """The mean over some other rows of what is found of row i in their recovered texts.  # [n]"""
        if not len(self.others):
            return None
        values = [
            [value(row, self.found[other]) for row, other in enumerate(turn)] for turn in self.others.tolist()
        ]
        out: Doubles = np.mean(np.array(values, dtype=np.float64), axis=0)
        return out

    def measure(
        self,
        name: str,
        label: str,
        compare: Callable[[str, str], float],
        figure: Callable[..., Figure],
    ) -> tuple[Measure, Doubles]:
        values = np.array([compare(t, r) for t, r in zip(self.targets, self.found, strict=True)])
        floors: dict[str, Doubles] = {}
        by_chance = self.shuffled_values(lambda row, text: compare(self.targets[row], text))
        if by_chance is not None:
            floors["shuffled"] = by_chance
        if self.nearest is not None:
            floors["nearest"] = np.array(
                [compare(t, r) for t, r in zip(self.targets, self.nearest, strict=True)], dtype=np.float64
            )
        highest = max(floors.values(), key=lambda values: float(values.mean()), default=np.zeros(len(values)))
        made = Measure(
            name=name,
            label=label,
            figure=figure(values, seed=self.seed),
            floors=tuple(
                Floor(name=one, label=FLOOR_LABELS[one], figure=figure(some, seed=self.seed))
                for one, some in floors.items()
            ),
            leaked=difference_figure(values - highest, seed=self.seed),
            found=int(values.sum()) if name == "exact" else None,
            total=len(values) if name == "exact" else None,
        )
        return made, values


def _personal(
    compared: _Compared, rows: Sequence[AttackRow], entities: Entities, seed: int
) -> tuple[Measure | None, tuple[PersonalKind, ...], list[tuple[int, int]]]:
    """Personal data of the texts that came back whole, by kind and all together."""
    mine = [entities.get(row.target, []) for row in rows]
    kinds = sorted({entity.kind.value for some in mine for entity in some})
    counts: list[tuple[int, int]] = []
    for some, text in zip(mine, compared.found, strict=True):
        counts.append((_whole(some, text), len(some)))
    if not kinds:
        return None, (), counts

    def tally(kind: str | None) -> tuple[Doubles, Doubles, Doubles, Doubles, Doubles]:
        """Per row: whole, in part, in all; and whole by each floor."""
        wanted = [[one for one in some if kind in (None, one.kind.value)] for some in mine]
        whole, part = np.zeros(len(rows)), np.zeros(len(rows))
        for row, (some, text) in enumerate(zip(wanted, compared.found, strict=True)):
            for one in recovered(some, text):
                whole[row] += one.extent is Extent.WHOLE
                part[row] += one.extent is Extent.PART
        chance = compared.shuffled_values(lambda row, text: _whole(wanted[row], text))
        nearest = np.zeros(len(rows))
        if compared.nearest is not None:
            nearest = np.array(
                [_whole(some, text) for some, text in zip(wanted, compared.nearest, strict=True)]
            )
        total = np.array([len(some) for some in wanted], dtype=np.float64)
        return whole, part, total, np.zeros(len(rows)) if chance is None else chance, nearest

    by_kind = []
    for kind in kinds:
        whole, part, total, chance, nearest = tally(kind)
        highest = max(chance, nearest, key=lambda values: float(values.sum()))
        by_kind.append(
            PersonalKind(
                kind=kind,
                total=int(total.sum()),
                found=int(whole.sum()),
                part=int(part.sum()),
                guessed=round(float(highest.sum()), 2),
                figure=pooled_figure(whole, total, seed=seed),
                leaked=pooled_difference(whole, highest, total, seed=seed),
            )
        )
    whole, _, total, chance, nearest = tally(None)
    highest = max(chance, nearest, key=lambda values: float(values.sum()))
    floors = [
        Floor(name="shuffled", label=FLOOR_LABELS["shuffled"], figure=pooled_figure(chance, total, seed=seed))
    ]
    if compared.nearest is not None:
        near = pooled_figure(nearest, total, seed=seed)
        floors.append(Floor(name="nearest", label=FLOOR_LABELS["nearest"], figure=near))
    pii = Measure(
        name="pii",
        label="Personal data",
        figure=pooled_figure(whole, total, seed=seed),
        floors=tuple(floors),
        leaked=pooled_difference(whole, highest, total, seed=seed),
        found=int(whole.sum()),
        total=int(total.sum()),
    )
    by_kind.sort(key=lambda one: -one.total)
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
