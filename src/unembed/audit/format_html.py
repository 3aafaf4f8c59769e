"""The report as one HTML file: no script, nothing loaded from elsewhere, for a manager and an engineer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape

from unembed.audit import html_parts as parts
from unembed.audit.audit_report import AuditReport
from unembed.audit.html_words import completions, long_texts
from unembed.audit.report_style import STYLE


def to_html(report: AuditReport) -> str:
    """The whole page."""
    body = "".join(
        (
            parts.header(report),
            parts.tiles(report),
            parts.gate(report),
            parts.overview(report),
            parts.attackers(report),
            parts.personal(report),
            parts.examples(report),
            long_texts(report),
            completions(report),
            parts.defences(report),
            _listed("What to do next", report.next_steps),
            _listed("How it was measured", report.methods),
            _listed("Limits", report.limits),
            _identifiers(report),
            _settings(report),
            f"<footer>Made by unembed {escape(report.unembed)}, {escape(report.created)}. Figures are shares "
            f"with 95 % "
            "intervals. The same figures stand in report.json.</footer>",
        )
    )
    title = f"Audit of {report.store.collection or report.store.address}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
        "'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )


def _listed(title: str, lines: Iterable[str]) -> str:
    items = "".join(parts.tag("li", escape(line)) for line in lines)
    return parts.tag("section", f"<h2>{title}</h2>" + parts.tag("ul", items)) if items else ""


def _identifiers(report: AuditReport) -> str:
    items = "".join(
        f'<li><a href="{escape(one.url, quote=True)}">{escape(one.id)}</a>: {escape(one.title)}</li>'
        for one in report.identifiers
    )
    return parts.tag("section", "<h2>Identifiers</h2>" + parts.tag("ul", items))


def _settings(report: AuditReport) -> str:
    shown = {
        "settings": report.settings,
        "encoder": report.encoder.model_dump(mode="json"),
        "model": None if report.model is None else report.model.model_dump(mode="json"),
        "sample": report.sample.model_dump(mode="json"),
    }
    text = escape(json.dumps(shown, indent=1, ensure_ascii=False))
    return (
        f"<details><summary>Settings, encoder, model and sample, in full</summary><pre>{text}</pre></details>"
    )
