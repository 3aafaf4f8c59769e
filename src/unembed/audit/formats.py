"""A report in every format: each is one function of the report, and computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from unembed.audit.audit_report import AuditReport, write_audit
from unembed.audit.format_html import to_html
from unembed.audit.format_junit import to_junit
from unembed.audit.format_markdown import to_markdown
from unembed.audit.format_sarif import to_sarif
from unembed.storage import atomic_write

FORMATS: dict[str, Callable[[AuditReport], str]] = {
    "report.html": to_html,
    "report.md": to_markdown,
    "report.junit.xml": to_junit,
    "report.sarif": to_sarif,
}


def write_formats(folder: Path, report: AuditReport) -> None:
    """All of them into one folder; report.json last, which the others can be made of again."""
    for name, render in FORMATS.items():
        with atomic_write(folder / name) as file:
            file.write(render(report).encode("utf-8", "replace"))
    write_audit(folder, report)
