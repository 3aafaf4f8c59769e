"""The report as SARIF 2.1.0, for code scanning: a rule per measure, a result per attacker and measure."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from unembed.audit.audit_report import AttackerResult, AuditReport, Measure
from unembed.audit.figure_text import cell, share
from unembed.audit.gate import surely

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "exact": "Texts can be recovered word for word from their vectors",
    "f1": "Words of texts can be recovered from their vectors",
    "pii": "Personal data can be recovered from vectors",
    "canary": "Planted secrets can be recovered from vectors",
}
PREFIX = "unembed/"


def to_sarif(report: AuditReport) -> str:
    """Only what leaked is a result; what failed the gate is an error, the rest a warning."""
    results = [
        _result(report, attacker, measure)
        for attacker in report.attackers
        for measure in attacker.measures
        if surely(measure) > 0
    ]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "unembed audit",
                "version": report.unembed,
                "rules": [_rule(report, name) for name in RULES],
            }
        },
        "invocations": [
            {"executionSuccessful": report.status == "complete", "endTimeUtc": _utc(report.created)}
        ],
        "results": results,
        "properties": {"headline": report.headline, "gatePassed": report.gate.passed},
    }
    return (
        json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def _rule(report: AuditReport, name: str) -> dict[str, Any]:
    return {
        "id": PREFIX + name,
        "name": f"Embedding{name.capitalize()}",
        "shortDescription": {"text": RULES[name]},
        "fullDescription": {"text": f"{RULES[name]}, beyond what could be guessed without them."},
        "help": {"text": " ".join(report.next_steps) or "Treat the vectors like the texts."},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["security", "privacy", *(one.id for one in report.identifiers)]},
    }


def _result(report: AuditReport, attacker: AttackerResult, measure: Measure) -> dict[str, Any]:
    failed = any((one.attacker, one.measure) == (attacker.name, measure.name) for one in report.gate.findings)
    store = report.store
    place = store.collection or store.vector
    return {
        "ruleId": PREFIX + measure.name,
        "ruleIndex": list(RULES).index(measure.name),
        "level": "error" if failed else "warning",
        "message": {
            "text": f"{attacker.title}: {measure.label.lower()}, {cell(measure.figure)} of n = "
            f"{measure.figure.n}; at least {share(surely(measure))} more than could be guessed."
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(store.address, safe="/:@?=&.#-_~")},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"name": place, "fullyQualifiedName": f"{store.kind}:{place}", "kind": "resource"}
                ],
            }
        ],
        # The same weakness of the same store is one alert, run after run.
        "partialFingerprints": {"unembedAudit/v1": f"{store.address}#{attacker.name}#{measure.name}"},
        "properties": {"attacker": attacker.name, "leaked": measure.leaked.model_dump()},
    }


def _utc(created: str) -> str:
    return created.replace("+00:00", "Z")
