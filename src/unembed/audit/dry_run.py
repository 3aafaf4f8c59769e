"""`--dry-run`: what an audit would read, who would attack, how long it takes here, and what it costs.

A few rows are read and attacked to see how long that takes; no endpoint is called.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from unembed.audit.attackers import Attacker, make_attackers
from unembed.audit.audit_config import AuditConfig
from unembed.audit.auditor import open_audit
from unembed.audit.calibration import load_calibration
from unembed.audit.case import Case, make_case
from unembed.audit.completions import MOST, NAME, TITLE, begun_texts
from unembed.audit.figure_text import money
from unembed.audit.prices import TOKENS, dollars
from unembed.audit.sampled_store import LEAST_OTHERS, SampledStore, summary_fields
from unembed.audit.which_encoder import choose_model
from unembed.encoders.registry import find_entry
from unembed.errors import DataError, UnembedError
from unembed.progress import SilentProgress, duration
from unembed.stores.base import Row, Store

LOOK = 256  # rows that a dry run reads, the first ones of the store
TIMED = 8  # vectors that are attacked to see how long that takes
TIMED_GUIDED = 1
TIMED_CALLS = 20  # of the search that is timed; the rest is taken to be as fast


class AttackerForecast(BaseModel):
    """One attacker."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    possible: bool
    reason: str | None = None
    vectors: int = 0
    encoder_calls: int = 0
    seconds: float | None = None
    dollars: float | None = None


class Forecast(BaseModel):
    """What an audit would do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str
    rows: int | None = Field(description="Rows that would be read: a sample needs one pass over all.")
    drawn: int
    encoder: str | None
    sure: str
    long: float = Field(description="Share of the rows looked at that are longer than the model writes.")
    attackers: tuple[AttackerForecast, ...]
    seconds: float

    def lines(self) -> list[str]:
        """For the terminal."""
        out = [
            f"{self.store}: {'all' if self.rows is None else f'{self.rows:,}'} rows would be read once, and "
            f"{self.drawn:,} drawn.",
            f"Encoder: {self.encoder or 'not known'} ({self.sure}). {self.long:.0%} of the first rows are "
            "longer than the model writes.",
        ]
        for one in self.attackers:
            if not one.possible:
                out.append(f"{one.title}: not possible. {one.reason}")
                continue
            price = f", {money(one.dollars)}" if one.dollars is not None else ""
            calls = f", {one.encoder_calls:,} encoder calls" if one.encoder_calls else ""
            took = "a time not known" if one.seconds is None else f"about {duration(one.seconds)}"
            out.append(f"{one.title}: {one.vectors:,} vectors{calls}{price}, {took}.")
        return [*out, f"In all about {duration(self.seconds)}."]


def forecast(address: str, config: AuditConfig, *, trust_remote_code: bool = False) -> Forecast:
    """Look at the first rows, time a few attacks, and multiply."""
    opened = open_audit(address, config, trust_remote_code=trust_remote_code)
    try:
        rows = _first_rows(opened.store)
        info = opened.store.describe()
    finally:
        opened.store.close()
    half = max(1, len(rows) // 2)
    sample = SampledStore(
        store=summary_fields(info),
        rows=tuple(rows[:half]),
        others=tuple(rows[half:]),
        planted=(),
        metadata={},
    )
    chosen = choose_model(sample, config, opened.base)
    case = make_case(sample, chosen, config, load_calibration(opened.base.checkpoint))
    there = len(rows) if info.count is None else info.count
    found = tuple(
        _forecast(one, case, min(config.samples, there), there, len(opened.canaries))
        for one in make_attackers(config.wanted)
    )
    if NAME in config.wanted:
        found += (_beginnings(case, min(config.samples, there)),)
    sorted_rows = case.summary.short + case.summary.long
    return Forecast(
        store=info.address,
        rows=info.count,
        drawn=min(config.samples, there),
        encoder=chosen.finding.name,
        sure=chosen.finding.sure,
        long=case.summary.long / max(1, sorted_rows),
        attackers=found,
        seconds=sum(one.seconds or 0.0 for one in found),
    )


def _first_rows(store: Store) -> list[Row]:
    rows: list[Row] = []
    for page in islice(store.scroll(LOOK), 1):
        rows += page
    if not rows:
        raise DataError(f"{store.describe().address} holds no vectors.")
    return rows[:LOOK]


def _forecast(attacker: Attacker, case: Case, drawn: int, there: int, canaries: int) -> AttackerForecast:
    reason = attacker.obstacle(case)
    if attacker.name == "pairs" and case.with_texts and there >= drawn + LEAST_OTHERS // 4:
        reason = None  # the few rows that were read are not all that there are
    if reason is not None or not case.targets:
        return AttackerForecast(
            name=attacker.name,
            title=attacker.title,
            possible=False,
            reason=reason or "No row can be attacked.",
        )
    share = case.summary.short / max(1, case.summary.short + case.summary.long)
    vectors = round(share * drawn)
    calls = 0
    if attacker.name == "encoder":
        vectors = min(vectors, case.config.guided_samples)
        calls = (vectors + canaries) * case.config.calls
    vectors += canaries
    return AttackerForecast(
        name=attacker.name,
        title=attacker.title,
        possible=True,
        vectors=vectors,
        encoder_calls=calls,
        seconds=_seconds(attacker, case, vectors),
        dollars=dollars(case.chosen.finding.name, calls, TOKENS, case.config.price),
    )


def _beginnings(case: Case, drawn: int) -> AttackerForecast:
    """Who knows how a text begins: of short and of long texts so many, each with two vectors."""
    share = len(begun_texts(case)) / max(1, case.summary.short + case.summary.long)
    vectors = 2 * min(2 * MOST, round(share * drawn))
    if not vectors:
        reason = "It takes texts of six words or more, and a model for their encoder."
        return AttackerForecast(name=NAME, title=TITLE, possible=False, reason=reason)
    seconds = _seconds(make_attackers(("vectors",))[0], case, vectors)
    return AttackerForecast(name=NAME, title=TITLE, possible=True, vectors=vectors, seconds=seconds)


def _seconds(attacker: Attacker, case: Case, vectors: int) -> float | None:
    """By a small attack. Fitting an adapter is not timed: it takes seconds."""
    if attacker.name == "pairs":
        attacker = make_attackers(("vectors",))[0]
        if attacker.obstacle(case) is not None:
            return None
    few, scale = TIMED, 1.0
    if attacker.name == "encoder":
        if _paid(case):
            return None
        few, scale = TIMED_GUIDED, case.config.calls / TIMED_CALLS
        case = replace(case, config=case.config.model_copy(update={"calls": TIMED_CALLS}))
    timed = np.repeat(case.vectors[:1], few, axis=0) if len(case.vectors) < few else case.vectors[:few]
    try:
        attacker.recover(case, timed[:1], SilentProgress())  # what happens only once
        began = time.perf_counter()
        attacker.recover(case, timed, SilentProgress())
    except UnembedError:
        return None
    return (time.perf_counter() - began) / len(timed) * vectors * scale


def _paid(case: Case) -> bool:
    return find_entry(case.chosen.base.checkpoint.config.encoder.name).kind == "api"
