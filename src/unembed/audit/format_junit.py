"""The report as JUnit XML: a suite per attacker, a test case per measure, a failure per finding of the
gate.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from unembed.audit.audit_report import AttackerResult, AuditReport
from unembed.audit.figure_text import cell


def to_junit(report: AuditReport) -> str:
    """What CI servers show as test results."""
    suites = [_suite(report, one) for one in report.attackers]
    counts = {
        name: str(sum(int(suite.get(name, "0")) for suite in suites))
        for name in ("tests", "failures", "skipped")
    }
    root = ET.Element("testsuites", {"name": "unembed audit", **counts, "errors": "0"})
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(report: AuditReport, attacker: AttackerResult) -> ET.Element:
    cases = []
    for measure in attacker.measures:
        case = ET.Element(
            "testcase",
            {"classname": f"unembed.audit.{attacker.name}", "name": f"{measure.name}: {measure.label}"},
        )
        failed = [
            one
            for one in report.gate.findings
            if (one.attacker, one.measure) == (attacker.name, measure.name)
        ]
        for finding in failed:
            ET.SubElement(case, "failure", {"message": _clean(finding.says), "type": "leakage"})
        ET.SubElement(
            case, "system-out"
        ).text = f"came back {cell(measure.figure)}, leaked {cell(measure.leaked)}, n = {measure.figure.n}"
        cases.append(case)
    if attacker.status != "measured" or not cases:
        case = ET.Element("testcase", {"classname": f"unembed.audit.{attacker.name}", "name": "attack"})
        reason = attacker.reason or (
            attacker.estimate.basis if attacker.estimate else "nothing to compare with"
        )
        ET.SubElement(case, "skipped", {"message": _clean(reason)})
        cases.append(case)
    suite = ET.Element(
        "testsuite",
        {
            "name": f"{attacker.title} ({attacker.name})",
            "tests": str(len(cases)),
            "failures": str(sum(case.find("failure") is not None for case in cases)),
            "skipped": str(sum(case.find("skipped") is not None for case in cases)),
            "errors": "0",
            "timestamp": report.created,
        },
    )
    suite.extend(cases)
    return suite


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(letter if letter >= " " else " " for letter in text)
