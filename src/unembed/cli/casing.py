"""`unembed casing`: count how words are written, so that a search writes them as people do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unembed.cli.counted_texts import counting_options, keep_counts, tell_counts
from unembed.cli.options import build_config
from unembed.training.casing_counting import CasingConfig

_EXAMPLES = """\b
Examples:
  unembed casing --model runs/short/best --source en=corpus.txt.gz
  unembed casing --model models/mine --source en=short.txt.gz --source en=wiki.txt.gz --min-count 10
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@counting_options(CasingConfig)
def command(model: Path, output: Path | None, as_json: bool, **typed: Any) -> None:
    """Count how words are written in texts, and put the counts into a model's folder.

    A guided search with an encoder that tells capitals apart then begins with the usual ones
    (docs/guided.md). No vectors are needed. Texts that are held out from training are left out here too.
    """
    settings = build_config(CasingConfig, typed)
    from unembed.model.checkpoint import Checkpoint
    from unembed.model.truecasing import CASING
    from unembed.training.casing_counting import count_casing

    checkpoint = Checkpoint.from_pretrained(model)
    counted = count_casing(settings, quiet=as_json)
    casing = counted.casing
    file = keep_counts(casing, checkpoint.add_casing, model / CASING, output)
    figures = {
        "texts": counted.texts,
        "held_out": counted.held_out,
        "words": len(casing.words),
        "abbreviations": len(casing.abbreviations),
    }
    tell_counts(
        "casing",
        file,
        figures,
        lambda size: (
            f"{len(casing.words):,} words that are not always lower case, in {counted.texts:,} texts, "
            f"{size / 1e3:.0f} kB; {counted.held_out:,} are held out."
        ),
        as_json=as_json,
    )
