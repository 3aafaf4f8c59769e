"""`unembed phrases`: count word pairs and triples, so that a search prefers sentences to shuffled words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import build_config, options_from
from unembed.training.phrase_counting import PhrasesConfig

_EXAMPLES = """\b
Examples:
  unembed phrases --model runs/short/best --source en=corpus.txt.gz
  unembed phrases --model models/mine --source en=short.txt.gz --source en=wiki.txt.gz --min-triples 2
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Folder of the model.")
@options_from(PhrasesConfig)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write.  [default: the model's folder]"
)
@json_option
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
    file = output if output is not None else model / PHRASES
    if output is not None:
        counted.phrases.save(output)
    else:
        checkpoint.add_phrases(counted.phrases)
    figures = {
        "texts": counted.texts,
        "held_out": counted.held_out,
        "repeated": counted.repeated,
        "pairs": len(counted.phrases.pairs),
        "triples": len(counted.phrases.triples),
        "bytes": file.stat().st_size,
    }
    if as_json:
        print_json({"phrases": str(file), **figures})
    else:
        say(
            f"{file}: {figures['pairs']:,} pairs and {figures['triples']:,} triples "
            f"of {counted.texts:,} texts, {figures['bytes'] / 1e6:.1f} MB; {counted.held_out:,} are held out."
        )
