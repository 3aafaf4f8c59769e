"""Every format of one report: complete, well-formed, and without a word that was not asked for."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from audit_cases import STORE, MakeCase, row

from unembed.audit.attack_rows import AttackLog
from unembed.audit.attackers import make_attackers
from unembed.audit.audit_report import AuditReport, Defences, read_audit, write_audit
from unembed.audit.formats import FORMATS, write_formats
from unembed.audit.sampled_store import SampledStore
from unembed.audit.summary_of_audit import Ending, summarise_audit
from unembed.errors import DataError

TEXTS = [
    f"the {noun} sees the {other} <b>"
    for noun in ("cat", "dog", "bird")
    for other in ("ship", "lamp", "book")
]
LONG = " ".join(TEXTS)
SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "audit-report.schema.json"


@pytest.fixture
def report(make_case_of: MakeCase, tmp_path: Path) -> AuditReport:
    case = make_case_of([*TEXTS, LONG], others=["a stone by the sea"] * 3, fail_over=("exact=0.01",))
    with AttackLog(tmp_path) as log:
        log.append([row(number, text) for number, text in enumerate(TEXTS)])
        sample = SampledStore(STORE, (), (), (), {})
        attackers = make_attackers(("vectors", "surrogate", "encoder"))
        reasons = {"vectors": None, "surrogate": "none is at hand", "encoder": "it is <not> here"}
        made, left = summarise_audit(case, sample, log, attackers, reasons, Ending("complete", None), None)
    assert all(one.recovered is None for one in left)
    assert all(one.statistics is not None for one in left)
    return made


def test_a_report_comes_back_from_its_file(report: AuditReport, tmp_path: Path) -> None:
    write_audit(tmp_path, report)
    assert read_audit(tmp_path) == report
    assert read_audit(tmp_path / "report.json") == report
    (tmp_path / "report.json").write_text('{"format": 1}', encoding="utf-8")
    with pytest.raises(DataError, match="is not the report of an audit"):
        read_audit(tmp_path)


def test_the_documented_schema_is_what_is_written(report: AuditReport) -> None:
    committed = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert committed == AuditReport.model_json_schema(), (
        "The schema is older than the code. Make it again: python docs/audit_schema.py"
    )
    jsonschema.validate(report.model_dump(mode="json"), committed)


def test_no_format_holds_a_text(report: AuditReport, tmp_path: Path) -> None:
    write_formats(tmp_path, report)
    assert {path.name for path in tmp_path.iterdir()} == {*FORMATS, "report.json", "rows.jsonl"}
    for name in (*FORMATS, "report.json"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not re.search(r"\b(ship|lamp|bird)\b", text), name
        assert report.headline.split(";")[0][:20] in text or name == "report.junit.xml"


class Structure(HTMLParser):
    """Whether tags are closed in order, and what the page loads."""

    VOID = ("meta", "br", "line", "rect", "path")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "srcset", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.VOID:
            return
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(report: AuditReport) -> None:
    page = FORMATS["report.html"](report)
    found = Structure()
    found.feed(page)
    assert found.open == []
    assert found.loads == []
    assert not found.tags & {"script", "link", "img", "iframe"}
    assert "svg" in found.tags
    assert "url(" not in page
    assert "@import" not in page
    assert "it is &lt;not&gt; here" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    for wanted in ("LLM09:2026", "AML.T0024.001", "8.4.1", "8.1.5", "Skipped.", "gate failed", "Long texts"):
        assert wanted in page, wanted


def test_a_later_section_finds_its_place(report: AuditReport) -> None:
    changed = report.model_copy(update={"defences": Defences(note="Rounding to eight bits was tried.")})
    assert "Rounding to eight bits" in FORMATS["report.html"](changed)
    assert "Rounding to eight bits" in FORMATS["report.md"](changed)


def test_junit(report: AuditReport) -> None:
    root = ET.fromstring(FORMATS["report.junit.xml"](report))
    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in root] == [
        "Has the vectors (vectors)",
        "Has the vectors and a surrogate (surrogate)",
        "Has the vectors and the encoder (encoder)",
    ]
    assert (root.get("failures"), root.get("skipped")) == ("1", "2")
    assert len(root.findall(".//failure")) == 1
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))


def test_sarif(report: AuditReport) -> None:
    log: dict[str, Any] = json.loads(FORMATS["report.sarif"](report))
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["unembed/exact", "unembed/f1", "unembed/pii", "unembed/canary"]
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        [place] = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "notes.jsonl"
        assert result["partialFingerprints"]
    assert {one["ruleId"]: one["level"] for one in run["results"]}["unembed/exact"] == "error"


def test_markdown_tables_have_one_width(report: AuditReport) -> None:
    lines = FORMATS["report.md"](report).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert tables
    width = None
    for line in lines:
        if not line.startswith("|"):
            width = None
            continue
        width = width or line.count("|")
        assert line.count("|") == width, line
