"""Figures as people read them: a percentage, and its interval in brackets."""

from __future__ import annotations

from unembed.audit.audit_report import Gate
from unembed.metrics.figure import Figure

_MEASURES = {
    "exact": "word for word",
    "f1": "words in common",
    "pii": "personal data",
    "canary": "planted secrets",
}


def share(value: float) -> str:
    """A share as a percentage, with a decimal where it is small."""
    return f"{100 * value:.1f} %" if 0 < abs(value) < 0.1 else f"{100 * value:.0f} %"


def interval(figure: Figure) -> str:
    """The interval alone; nothing where one sample gives none."""
    if figure.low is None or figure.high is None:
        return ""
    small = max(abs(figure.low), abs(figure.high)) < 0.1
    low, high = (f"{100 * end:.1f}" if small else f"{100 * end:.0f}" for end in (figure.low, figure.high))
    return f"[{low}, {high}]"


def cell(figure: Figure | None) -> str:
    """`31 % [25, 38]`."""
    return "" if figure is None else f"{share(figure.value)} {interval(figure)}".strip()


def leaked(figure: Figure) -> str:
    """What is above the highest floor; nothing is said as that, not as a number below zero."""
    return f"leaked {cell(figure)}" if figure.value > 0 else "not above the floors"


def money(dollars: float | None) -> str:
    """A price; less than a cent is said so."""
    if dollars is None:
        return "no charge known"
    return "less than $0.01" if dollars < 0.01 else f"${dollars:,.2f}"


def allowances(gate: Gate) -> str:
    """The thresholds, in words."""
    return ", ".join(f"{_MEASURES[name]} at most {share(limit)}" for name, limit in gate.thresholds.items())


def cost(encoder_calls: int, attacked: int, dollars: float | None, seconds: float | None) -> str:
    """What an attack took, in a line."""
    parts = []
    if encoder_calls and attacked:
        parts.append(f"{encoder_calls / attacked:,.0f} encoder calls a vector")
        if dollars is not None:
            parts.append(f"{money(dollars)} in all")
    else:
        parts.append("no encoder call")
    if seconds is not None:
        parts.append(f"{seconds:.{1 if seconds >= 1 else 2}f} s a vector here")
    return ", ".join(parts)
