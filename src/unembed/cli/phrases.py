"""`unembed phrases`: count word pairs and triples, so that a search prefers sentences to shuffled words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unembed.cli.counted_texts import counting_options, keep_counts, tell_counts
from unembed.cli.options import build_config
from unembed.training.phrase_counting import PhrasesConfig

_EXAMPLES = """\b
Examples:
  unembed phrases --model runs/short/best --source en=corpus.txt.gz
  unembed phrases --model models/mine --source en=short.txt.gz --source en=wiki.txt.gz --min-triples 2
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@counting_options(PhrasesConfig)
def command(model: Path, output: Path | None, as_json: bool, **typed: Any) -> None:
    """Count word pairs and triples in texts, and put the counts into a model's folder.

    A guided search then prefers texts whose trigrams are likely (docs/guided.md). No vectors are needed.
    Texts that are held out from training are left out here too.
    """
    settings = build_config(PhrasesConfig, typed)
    from unembed.model.checkpoint import Checkpoint
    from unembed.model.trigrams import PHRASES
    from unembed.training.phrase_counting import count_phrases

    checkpoint = Checkpoint.from_pretrained(model)
    counted = count_phrases(settings, checkpoint, quiet=as_json)
    phrases = counted.phrases
    file = keep_counts(phrases, checkpoint.add_phrases, model / PHRASES, output)
    figures = {
        "texts": counted.texts,
        "held_out": counted.held_out,
        "repeated": counted.repeated,
        "pairs": len(phrases.pairs),
        "triples": len(phrases.triples),
    }
    tell_counts(
        "phrases",
        file,
        figures,
        lambda size: (
            f"{len(phrases.pairs):,} pairs and {len(phrases.triples):,} triples of {counted.texts:,} "
            f"texts, {size / 1e6:.1f} MB; {counted.held_out:,} are held out."
        ),
        as_json=as_json,
    )
