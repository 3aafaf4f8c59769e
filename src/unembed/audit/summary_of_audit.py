"""From rows to a report: everything that the formats show is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import numpy as np

from unembed.audit.attack_rows import AttackLog, AttackRow
from unembed.audit.attackers import Attacker
from unembed.audit.audit_report import (
    AttackerResult,
    AuditReport,
    CanarySummary,
    Example,
    ModelUsed,
    StoreSummary,
)
from unembed.audit.calibration import model_digest
from unembed.audit.case import Case
from unembed.audit.completions import FLOOR, NAME, read_completions
from unembed.audit.estimates import estimate_right
from unembed.audit.examples import choose_examples
from unembed.audit.findings import find
from unembed.audit.gate import judge
from unembed.audit.long_chunks import read_long
from unembed.audit.personal_data import PersonalData
from unembed.audit.prices import TOKENS, dollars
from unembed.audit.public_texts import public_texts
from unembed.audit.sampled_store import SampledStore
from unembed.audit.sentences import IDENTIFIERS, headline, limits, methods, next_steps
from unembed.version import __version__


@dataclass(frozen=True)
class Ending:
    """How the attacks ended."""

    status: Literal["complete", "interrupted", "failed"]
    problem: str | None


def summarise_audit(
    case: Case,
    sample: SampledStore,
    log: AttackLog,
    attackers: Sequence[Attacker],
    reasons: dict[str, str | None],
    ending: Ending,
    baseline: AuditReport | None,
    *,
    given: int = 0,
    quiet: bool = True,
) -> tuple[AuditReport, list[AttackRow]]:
    """The report, and the rows as they stay: measured, and without texts unless they were asked for."""
    config, chosen = case.config, case.chosen
    personal = PersonalData(case, quiet=quiet)
    public = None
    if case.with_texts and log.rows and chosen.local_encoder is not None:
        public = public_texts(chosen.local_encoder, quiet=quiet)
    results: list[AttackerResult] = []
    examples: dict[str, tuple[Example, ...]] = {}
    left: list[AttackRow] = []
    for attacker in attackers:
        rows, reason = log.of(attacker.name), reasons[attacker.name]
        found = find(case, rows, personal.entities, public)
        examples[attacker.name] = choose_examples(case, rows, found.statistics)
        left += [_finished(case, row, found.statistics[row.target]) for row in rows]
        results.append(
            AttackerResult(
                name=attacker.name,
                title=attacker.title,
                has=attacker.has.replace(
                    "{pairs}", f"{config.pairs:,}" if not sample.others else _pairs(case)
                ),
                status=_status(reason, rows, attacker, case, ending),
                reason=reason or (ending.problem if len(rows) < len(attacker.targets(case)) else None),
                n=sum(row.canary is None for row in rows),
                wanted=0 if reason is not None else len(set(attacker.targets(case)) & set(case.usual)),
                attacked=len(rows),
                encoder_calls=sum(row.encoder_calls for row in rows),
                dollars=_cost(case, rows),
                seconds_per_vector=round(float(np.mean([row.seconds for row in rows])), 3) if rows else None,
                measures=found.measures,
                personal=found.personal,
                estimate=None if case.with_texts else estimate_right(case, rows),
            )
        )
    long, completed = read_long(case, personal.long), read_completions(case, log)
    left += [
        _finished(case, row, completed.statistics.get((row.attacker, row.target), {}))
        for row in log.rows
        if row.attacker in (NAME, FLOOR)
    ]
    worst = max(results, key=_worst, default=None)
    report = AuditReport(
        unembed=__version__,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        status=ending.status,
        problem=ending.problem,
        store=StoreSummary(**sample.store),
        sample=case.summary,
        encoder=chosen.finding,
        model=_model(case),
        headline=headline(results, long, completed.figures),
        attackers=tuple(results),
        long_chunks=long,
        completions=completed.figures,
        personal=personal.summary,
        canaries=CanarySummary(given=given, planted=len(case.canaries)) if given else None,
        examples=examples[worst.name] if worst is not None else (),
        shows_texts=config.show_texts,
        gate=judge(
            results, config.thresholds, baseline, None if config.baseline is None else str(config.baseline)
        ),
        methods=methods(case),
        limits=limits(case, personal.summary.misses if personal.summary is not None else None, given),
        next_steps=next_steps(case, results),
        identifiers=IDENTIFIERS,
        settings=config.model_dump(mode="json"),
    )
    return report, left


def _worst(result: AttackerResult) -> tuple[float, float]:
    exact, f1 = result.measure("exact"), result.measure("f1")
    return (exact.leaked.value if exact is not None else -1.0, f1.leaked.value if f1 is not None else -1.0)


def _status(
    reason: str | None, rows: Sequence[AttackRow], attacker: Attacker, case: Case, ending: Ending
) -> Literal["measured", "interrupted", "skipped"]:
    if reason is not None:
        return "skipped"
    if len(rows) < len(attacker.targets(case)) and ending.status != "complete":
        return "interrupted"
    return "measured"


def _finished(case: Case, row: AttackRow, statistics: dict[str, float]) -> AttackRow:
    show = case.config.show_texts
    texts = [one.text for one in case.targets] + [one.text for one in case.long]
    return row.model_copy(
        update={
            "statistics": statistics,
            "recovered": row.recovered if show else None,
            "original": texts[row.target] if show else None,
        }
    )


def _pairs(case: Case) -> str:
    return f"up to {min(case.config.pairs, case.summary.others):,}"


def _cost(case: Case, rows: Sequence[AttackRow]) -> float | None:
    calls = sum(row.encoder_calls for row in rows)
    return dollars(case.chosen.finding.name, calls, TOKENS, case.config.price)


def _model(case: Case) -> ModelUsed | None:
    inverter = case.chosen.inverter
    if inverter is None:
        return None
    return ModelUsed(
        name="bundled" if case.config.model is None else Path(case.config.model).name,
        digest=model_digest(inverter.checkpoint),
        encoder=inverter.checkpoint.config.encoder.name,
        max_tokens=inverter.max_length,
        calibrated=case.calibration is not None,
    )
