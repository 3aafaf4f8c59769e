"""Thresholds on the lower end of the interval, baselines, and how both are typed."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from unembed.audit.audit_config import ATTACKERS, AuditConfig
from unembed.audit.audit_report import AttackerResult, Measure
from unembed.audit.gate import judge
from unembed.metrics.figure import Figure


def result(name: str = "exact", value: float = 0.3, low: float = 0.2, high: float = 0.4) -> AttackerResult:
    figure = Figure(value=value, low=low, high=high, n=100)
    measure = Measure(name=name, label="What", figure=figure, leaked=figure)  # type: ignore[arg-type]
    return AttackerResult(
        name="vectors", title="Has", has="them", status="measured", n=100, measures=(measure,)
    )


class Before:
    """As much of an earlier report as is compared."""

    def __init__(self, *attackers: AttackerResult) -> None:
        self.attackers = attackers


def test_the_lower_end_decides() -> None:
    assert judge([result()], {"exact": 0.25}).passed
    failed = judge([result()], {"exact": 0.15})
    assert not failed.passed
    [finding] = failed.findings
    assert (finding.measure, finding.low, finding.limit) == ("exact", 0.2, 0.15)
    assert "at least 20 %, allowed 15 %" in finding.says
    assert judge([result()], {"pii": 0.0}).passed  # another measure
    assert judge([result()], {}).passed


def test_one_canary_is_enough() -> None:
    """Of canaries there is no sample: all were looked at."""
    assert not judge([result("canary", 0.1, 0.0, 0.3)], {"canary": 0}).passed
    assert judge([result("canary", 0.0, 0.0, 0.3)], {"canary": 0}).passed


def test_a_baseline_forgives_what_was_there() -> None:
    before = Before(result(value=0.28, low=0.18, high=0.38))
    assert judge([result()], {"exact": 0.1}, before, "last.json").passed  # type: ignore[arg-type]
    worse = result(value=0.6, low=0.5, high=0.7)
    failed = judge([worse], {}, before, "last.json")  # type: ignore[arg-type]
    assert not failed.passed
    assert "before 28 %" in failed.findings[0].says
    # Worse, but still within the threshold.
    assert judge([worse], {"exact": 0.9}, before, "last.json").passed  # type: ignore[arg-type]
    # What the baseline does not have is judged by the threshold alone.
    assert not judge([result("pii")], {"pii": 0.1}, before, "last.json").passed  # type: ignore[arg-type]


def test_thresholds_are_read_as_typed() -> None:
    assert AuditConfig(fail_over=("exact=0.05, pii=0.01", "canary=0")).thresholds == {
        "exact": 0.05, "pii": 0.01, "canary": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "message"),
    [("exact", "is not one of exact=SHARE"), ("words=1", "is not one of"), ("f1=x", "is not a number"),
     ("pii=5", "between 0 and 1")],
)  # fmt: skip
def test_a_mistyped_threshold_is_named(typed: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AuditConfig(fail_over=(typed,))


def test_attackers_by_name() -> None:
    assert AuditConfig().wanted == ATTACKERS
    assert AuditConfig(attackers=("all",)).wanted == ATTACKERS
    assert AuditConfig(attackers=("pairs,vectors",)).wanted == ("vectors", "pairs")
    with pytest.raises(ValidationError, match="there is no attacker 'thief'"):
        AuditConfig(attackers=("thief",))
