"""Recovered texts in the terminal: agreeing words marked, masks that dissolve, texts that come nearer."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from unembed.cli.console import say

if TYPE_CHECKING:
    from unembed.cli.trip import Trip
    from unembed.decode.result import Inversion

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
    calls = f"{result.encoder_calls:,} encoder calls, " if result.cosine is not None else ""
    click.echo(f"text       {trip.text}")
    click.echo(f"recovered  {mark(result.text, trip.spans)}")
    for other in result.alternatives:
        click.echo(f"  {other.score:8.2f} {other.text}")
    click.echo(
        f"           {len(trip.spans)} of {trip.words} words agree, cosine {trip.cosine:.3f}, "
        f"score {result.score:.2f}, {trip.strategy}, {calls}{result.forward_passes} passes, {length}, "
        f"{trip.seconds:.2f} s"
    )


def play(result: Inversion) -> None:
    """The steps one after the other, in place where there is a terminal; on stderr, for people.

    Of a search these are the ever nearer texts, each with the encoder calls until then and its cosine.
    """
    if result.advances:
        _play([f"{one.calls:6,} calls  {one.cosine:.4f}  {one.text}" for one in result.advances])
    else:
        _play([f"{number:3}  {frame.text}" for number, frame in enumerate(result.trace or ())])


def _play(lines: Sequence[str]) -> None:
    if not sys.stderr.isatty():
        for line in lines:
            say(line)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), refresh_per_second=30) as live:
        for line in lines:
            shown = Text(line)
            shown.highlight_words(["░"], style="dim cyan")
            live.update(shown)
            time.sleep(PAUSE)
