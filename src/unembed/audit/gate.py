"""Whether an audit passes: thresholds on what leaked, and what got worse since an earlier report.

A threshold fails on the lower end of the interval, so that chance does not fail a build. Canaries are all
looked at, not sampled: one that came back is one that came back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unembed.audit.audit_report import AttackerResult, AuditReport, Gate, GateFinding, Measure
from unembed.audit.figure_text import share


def judge(
    attackers: Sequence[AttackerResult],
    thresholds: Mapping[str, float],
    baseline: AuditReport | None = None,
    baseline_name: str | None = None,
) -> Gate:
    """Every threshold that is exceeded; with a baseline only what is worse than there."""
    findings = []
    for attacker in attackers:
        for measure in attacker.measures:
            before = _before(baseline, attacker.name, measure.name)
            finding = _judge(attacker, measure, thresholds.get(measure.name), before, bool(thresholds))
            if finding is not None and (baseline is None or before is None or _worse(measure, before)):
                findings.append(finding)
    return Gate(
        thresholds=dict(thresholds), baseline=baseline_name, passed=not findings, findings=tuple(findings)
    )


def surely(measure: Measure) -> float:
    """What has leaked at least, as far as the interval tells."""
    if measure.name == "canary":
        return measure.figure.value
    return measure.leaked.value if measure.leaked.low is None else measure.leaked.low


def _judge(
    attacker: AttackerResult, measure: Measure, limit: float | None, before: Measure | None, limited: bool
) -> GateFinding | None:
    least = surely(measure)
    over = limit is not None and least > limit
    # Without thresholds, a baseline alone decides.
    worse = not limited and before is not None and _worse(measure, before)
    if not (over or worse):
        return None
    says = f"{attacker.title}: {measure.label.lower()}, at least {share(least)}"
    says += f", allowed {share(limit)}" if limit is not None else ""
    says += f", before {share(before.leaked.value)}" if before is not None else ""
    return GateFinding(
        attacker=attacker.name,
        measure=measure.name,
        value=measure.leaked.value,
        low=least,
        limit=limit,
        before=None if before is None else before.leaked.value,
        says=says + ".",
    )


def _worse(measure: Measure, before: Measure) -> bool:
    """Beyond both intervals."""
    if measure.name == "canary":
        return measure.figure.value > before.figure.value
    highest = before.leaked.value if before.leaked.high is None else before.leaked.high
    return surely(measure) > highest


def _before(baseline: AuditReport | None, attacker: str, measure: str) -> Measure | None:
    if baseline is None:
        return None
    found = next((one for one in baseline.attackers if one.name == attacker), None)
    return None if found is None else found.measure(measure)
