"""Round trips in the terminal: both texts with agreeing words marked, masks that dissolve, nearer texts."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import say

if TYPE_CHECKING:
    from unembed.decode.result import Inversion
    from unembed.invert_config import InvertConfig
    from unembed.inverter import RoundTrip

PAUSE = 0.15  # seconds per step, for eyes
# Chinese and Japanese are compared character by character: they put no spaces between words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’]\w+)?")


def agreeing(original: str, recovered: str) -> tuple[list[tuple[int, int]], int]:
    """The spans of the recovered words that agree, in their order; and how many words the original has."""
    ours = list(_WORD.finditer(recovered))
    theirs = _WORD.findall(original.casefold())
    matcher = SequenceMatcher(None, theirs, [word.group().casefold() for word in ours], autojunk=False)
    blocks = matcher.get_matching_blocks()
    agree = [index for block in blocks for index in range(block.b, block.b + block.size)]
    return [ours[index].span() for index in agree], len(theirs)


def as_json(trip: RoundTrip, config: InvertConfig, precision: str) -> dict[str, Any]:
    """One JSON object."""
    from unembed.vectors.results import as_row

    row = as_row(0, trip.inversion)
    del row["index"]
    guide = row.pop("cosine")  # by the encoder that guided, which may be another
    spans, words = agreeing(trip.text, trip.inversion.text)
    return {
        "text": trip.text,
        "recovered": row.pop("text"),
        "cosine": round(trip.cosine, 6),
        **({} if guide is None else {"guide_cosine": round(guide, 6)}),
        "words_agreeing": len(spans),
        "words": words,
        **row,
        "strategy": config.strategy,
        "quality": config.quality,
        "steps": config.with_effort().steps,
        "precision": precision,
        "seconds": round(trip.seconds, 4),
    }


def mark(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with its agreeing words in bold green; piped, the colours fall away."""
    out, end = "", 0
    for first, last in sorted(spans):
        out += text[end:first] + click.style(text[first:last], fg="green", bold=True)
        end = last
    return out + text[end:]


def show(trip: RoundTrip, config: InvertConfig, precision: str) -> None:
    """Both texts, one above the other, and the figures."""
    result = trip.inversion
    spans, words = agreeing(trip.text, result.text)
    length = "length given" if result.length_known else "length not given"
    calls = f"{result.encoder_calls:,} encoder calls, " if result.cosine is not None else ""
    click.echo(f"text       {trip.text}")
    click.echo(f"recovered  {mark(result.text, spans)}")
    for other in result.alternatives:
        click.echo(f"  {other.score:8.2f} {other.text}")
    click.echo(
        f"           {len(spans)} of {words} words agree, cosine {trip.cosine:.3f}, "
        f"score {result.score:.2f}, {config.strategy}, ranked by {result.ranked_by}, "
        f"{calls}{result.forward_passes} passes, {length}, {precision}, {trip.seconds:.2f} s"
    )


def play(result: Inversion) -> None:
    """The steps one after the other, each over the last one in a terminal; on stderr.

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
