"""A trial's figures as tables, a picture, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unembed.metrics.figure import Figure
from unembed.report.document import Column, Report, Row, Scatter, ScatterPoint, Table
from unembed.trials.frontier import Point, frontier, recommend
from unembed.trials.settings_of_defences import NONE
from unembed.trials.trial_attackers import NOTHING_SECRET
from unembed.trials.trial_figures import EXACT, F1, TrialFigures
from unembed.trials.trial_rows import FLOOR, SettingRow
from unembed.trials.utility import NEIGHBOURS, STS

KEPT = "kept"
WITHOUT_PAIRS = ("unaware", "aware", "columns")  # attackers who have neither pairs nor the defended encoder
_MEASURES = {"ndcg": "nDCG@10", "recall": "recall@10"}


def trials_report(
    figures: TrialFigures, *, title: str, about: dict[str, Any], facts: dict[str, str]
) -> Report:
    """The report of what was measured so far."""
    points = figures.points()
    best = {point.setting: point for point in points}
    judged = [point for point in points if point.setting != NONE and not point.missing]
    chosen = {point.setting for point in frontier(judged)}
    measured = [one for one in figures.settings if one.setting in best]
    return Report(
        title=title,
        about=about,
        facts=facts,
        conclusions=tuple(_conclusions(figures, points)),
        tables=(_defences(figures, measured, best, chosen), _attackers(figures, measured)),
        scatters=(_picture(figures, measured, best, chosen),),
    )


def _conclusions(figures: TrialFigures, points: Sequence[Point]) -> list[str]:
    undefended = next((point for point in points if point.setting == NONE), None)
    if undefended is None or len(points) < 2:
        return ["Nothing follows yet: no defence was measured beside none."]
    others = [point for point in points if point.setting != NONE and not point.missing]
    waiting = [point.setting for point in points if point.missing]
    out = []
    if waiting:
        out.append(f"Not attacked by everybody yet, and left out here: {', '.join(waiting)}.")
    if others:
        out += ["Against every attacker:", *recommend(others, undefended, figures.floor.get(F1))]
    weaker = [point for point in figures.points(WITHOUT_PAIRS) if point.setting != NONE and not point.missing]
    if any(point.secret for point in weaker):
        out.append(
            "Only if the attacker has no pair of the store, and cannot have texts embedded as it does:"
        )
        out += recommend(weaker, undefended, None)
    return out


def _defences(
    figures: TrialFigures, measured: Sequence[SettingRow], best: dict[str, Point], chosen: set[str]
) -> Table:
    """One row per setting, what leaks least first."""
    rows = []
    for one in sorted(measured, key=lambda one: best[one.setting].leakage.value):
        point = best[one.setting]
        rows.append(
            Row(
                label=one.setting,
                floor=one.setting == NONE,
                facts={
                    "Best attacker": point.attacker,
                    "Secret": one.secret or "nothing",
                    "Bytes": f"{one.bytes_per_vector:g}",
                    "Noise, share of the norm": _noise(one),
                    "Frontier": "yes" if one.setting in chosen else "",
                    **({"Not attacked yet by": ", ".join(point.missing)} if point.missing else {}),
                },
                figures={
                    F1: point.leakage, EXACT: point.exact, KEPT: point.kept, **figures.utility(one),
                },
            )
        )  # fmt: skip
    if figures.floor:
        floor = {name: figures.floor[name] for name in (F1, EXACT)}
        rows.append(Row(label=FLOOR, floor=True, figures=floor))
    names = dict.fromkeys(name for one in measured for name in one.utility)
    return Table(
        name="defences",
        title="What the best attacker still reads, and what it costs",
        axis="Defence",
        columns=(*_leak_columns(figures, (F1, EXACT)), _kept_column(figures), *map(_utility_column, names)),
        rows=tuple(rows),
        mark_best=False,
        notes=(
            "The best attacker is the one of the largest token F1; the next table has all of them.",
            "A defence is fitted on what it defends: each benchmark's documents, the attacked store.",
            "No attacker retrains the model: what they fit is a linear map to what it reads.",
        ),
    )


def _attackers(figures: TrialFigures, measured: Sequence[SettingRow]) -> Table:
    """Every attacker on every setting, the best first, those who cannot last."""
    rows = []
    for one in measured:
        for attacker, leaks in figures.ranked(one.setting):
            facts = {"Attacker": attacker.title}
            rows.append(Row(label=one.setting, floor=one.setting == NONE, facts=facts, figures=leaks))
        for attacker in figures.attackers:
            if one.obstacles.get(attacker.name, NOTHING_SECRET) != NOTHING_SECRET:
                told = f"{attacker.title}: cannot ({one.obstacles[attacker.name]})"
                rows.append(Row(label=one.setting, facts={"Attacker": told}))
    if figures.floor:
        rows.append(Row(label=FLOOR, floor=True, figures=figures.floor))
    names = tuple(metric.name for metric in figures.metrics)
    return Table(
        name="attackers", title="Every attacker", axis="Defence", columns=_leak_columns(figures, names),
        rows=tuple(rows), mark_best=False,
    )  # fmt: skip


def _picture(
    figures: TrialFigures, measured: Sequence[SettingRow], best: dict[str, Point], chosen: set[str]
) -> Scatter:
    def weakest(one: SettingRow) -> tuple[str, float]:
        return one.title, -best[one.setting].kept.value

    points = [
        ScatterPoint(
            label=one.setting,
            curve=one.title,
            x=best[one.setting].kept,
            ys={F1: best[one.setting].leakage, EXACT: best[one.setting].exact},
            marked=one.setting in chosen,
        )
        for one in sorted(measured, key=weakest)
        if one.setting == NONE or not best[one.setting].missing
    ]
    floors: dict[str, Figure] = {name: figures.floor[name] for name in (F1, EXACT) if figures.floor}
    return Scatter(
        name="frontier", title="Leakage by the best attacker against retrieval kept", x=_kept_column(figures),
        panels=_leak_columns(figures, (F1, EXACT)), points=tuple(points),
        marked="not beaten by another", floors=floors,
    )  # fmt: skip


def _leak_columns(figures: TrialFigures, names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=metric.name, label=metric.label, percent=metric.percent,
            digits=3 if metric.name == "rouge_l" else 1, signature=metric.signature(("en",)),
        )
        for metric in figures.metrics
        if metric.name in names
    )  # fmt: skip


def _kept_column(figures: TrialFigures) -> Column:
    judged = any("/" in name for one in figures.settings for name in one.utility)
    means = (
        "nDCG@10 behind the defence over nDCG@10 without, mean over the benchmarks, paired by query"
        if judged
        else "share of the ten nearest neighbours that stay"
    )
    return Column(name=KEPT, label="Retrieval kept", percent=True, signature=means)


def _utility_column(name: str) -> Column:
    if name == NEIGHBOURS:
        means = "share of each stored vector's ten nearest neighbours that a search still finds"
        return Column(name=name, label="Neighbours kept", percent=True, signature=means)
    if name == STS:
        return Column(name=name, label="STS Spearman", percent=True, signature="rank correlation with people")
    benchmark, _, measure = name.rpartition("/")
    return Column(name=name, label=f"{benchmark} {_MEASURES[measure]}", percent=True)


def _noise(one: SettingRow) -> str:
    value = one.described.get("noise_relative_to_norm")
    return "" if value is None else f"{float(value):.3g}"
