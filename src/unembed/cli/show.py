"""Recovered texts in the terminal: agreeing words marked, and masks that dissolve."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from unembed.cli.console import say

if TYPE_CHECKING:
    from unembed.cli.trip import Trip
    from unembed.decode.result import Frame

PAUSE = 0.15  # seconds a step, for eyes


def mark(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with its agreeing words in bold green; piped, the colours fall away."""
    out, end = "", 0
    for first, last in sorted(spans):
        out += text[end:first] + click.style(text[first:last], fg="green", bold=True)
        end = last
    return out + text[end:]


def show_round_trip(trip: Trip) -> None:
    """Both texts, one above the other, and the figures."""
    result = trip.result
    length = "length given" if result.length_known else "length not given"
    click.echo(f"text       {trip.text}")
    click.echo(f"recovered  {mark(result.text, trip.spans)}")
    for other in result.alternatives:
        click.echo(f"  {other.score:8.2f} {other.text}")
    click.echo(
        f"           {len(trip.spans)} of {trip.words} words agree, cosine {trip.cosine:.3f}, "
        f"score {result.score:.2f}, {trip.strategy}, {result.forward_passes} passes, {length}, "
        f"{trip.seconds:.2f} s"
    )


def play(trace: Sequence[Frame]) -> None:
    """The steps one after the other, in place where there is a terminal; on stderr, for people."""
    if not sys.stderr.isatty():
        for number, frame in enumerate(trace):
            say(f"{number:3}  {frame.text}")
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), refresh_per_second=30) as live:
        for number, frame in enumerate(trace):
            line = Text(f"{number:3}  {frame.text}")
            line.highlight_words(["░"], style="dim cyan")
            live.update(line)
            time.sleep(PAUSE)
