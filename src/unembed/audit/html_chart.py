"""The report's charts, as SVG that needs nothing else: bars with intervals, floors as grey marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from unembed.audit.audit_report import Floor, Measure
from unembed.audit.figure_text import interval, leaked, share
from unembed.metrics.figure import Figure

WIDTH, LEFT, RIGHT = 920, 244, 186
ROW, BAR = 40, 18
SCALE = WIDTH - LEFT - RIGHT


@dataclass(frozen=True)
class Bar:
    """One row of a chart."""

    label: str
    figure: Figure
    floors: Sequence[Floor] = ()
    note: str = ""  # under the figure
    count: str = ""  # under the label


def measure_bars(measures: Sequence[Measure]) -> list[Bar]:
    """An attacker's measures, each with its floors and what leaked."""
    return [
        Bar(
            one.label,
            one.figure,
            one.floors,
            note=leaked(one.leaked),
            count=f"{one.found:,} of {one.total:,}" if one.total and one.found is not None else "",
        )
        for one in measures
    ]


def bar_chart(bars: Sequence[Bar], title: str) -> str:
    """Horizontal bars from 0 to 100 %."""
    height = len(bars) * ROW + 26
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title, quote=True)}">'
        f"<title>{escape(title)}</title>"
    ]
    bottom = len(bars) * ROW + 4
    for tick in (0, 25, 50, 75, 100):
        x = _x(tick / 100)
        parts.append(f'<line x1="{x:.1f}" y1="2" x2="{x:.1f}" y2="{bottom}" stroke="var(--line)"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" class="faint">{tick} %</text>'
        )
    for number, bar in enumerate(bars):
        parts.append(_bar(bar, number * ROW + ROW / 2 + 2))
    return "".join([*parts, "</svg>"])


def _bar(bar: Bar, middle: float) -> str:
    value = min(1.0, max(0.0, bar.figure.value))
    top = middle - BAR / 2
    parts = [
        *_two_lines(LEFT - 14, middle, escape(bar.label), escape(bar.count), end=True),
        f'<rect x="{LEFT}" y="{top:.1f}" width="{SCALE * value:.1f}" height="{BAR}" rx="3" fill="var(--bad)" '
        f'opacity=".82"/>',
    ]
    for floor in bar.floors:
        x = _x(min(1.0, max(0.0, floor.figure.value)))
        parts.append(
            f'<line x1="{x:.1f}" y1="{top - 4:.1f}" x2="{x:.1f}" y2="{top + BAR + 4:.1f}" '
            f'stroke="var(--floor)" '
            f'stroke-width="4"><title>{escape(floor.label)}: {share(floor.figure.value)}</title></line>'
        )
    if bar.figure.low is not None and bar.figure.high is not None:
        low, high = _x(max(0.0, bar.figure.low)), _x(min(1.0, bar.figure.high))
        parts.append(
            f'<path d="M{low:.1f} {middle:.1f}H{high:.1f}M{low:.1f} {middle - 5:.1f}v10M{high:.1f} '
            f'{middle - 5:.1f}v10" '
            'stroke="var(--ink)" stroke-width="1.6" fill="none"/>'
        )
    x = LEFT + SCALE + 14
    value_text = f'<tspan font-weight="650">{share(bar.figure.value)}</tspan>'
    shown = f'{value_text} <tspan class="faint">{interval(bar.figure)}</tspan>'
    parts += _two_lines(x, middle, shown, escape(bar.note))
    return "".join(parts)


def _x(value: float) -> float:
    return LEFT + SCALE * value


def _two_lines(x: float, middle: float, first: str, second: str, *, end: bool = False) -> list[str]:
    """A text, and a fainter one below it where there is one."""
    anchor = ' text-anchor="end"' if end else ""
    if not second:
        return [f'<text x="{x}" y="{middle + 4.5:.1f}"{anchor}>{first}</text>']
    return [
        f'<text x="{x}" y="{middle - 3:.1f}"{anchor}>{first}</text>',
        f'<text x="{x}" y="{middle + 13:.1f}"{anchor} class="faint">{second}</text>',
    ]
