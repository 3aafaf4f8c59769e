"""`unembed adapt`: an inverter for another encoder, in minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import trust_option

_EXAMPLES = """\b
Examples:
  unembed adapt --encoder mpnet -o models/mpnet
  unembed adapt --encoder mpnet --texts sentences.txt -o models/mpnet
  unembed adapt --encoder mpnet --minutes 3 -o models/mpnet
  unembed adapt --encoder mpnet --pairs 0 -o models/mpnet-0
  unembed adapt --encoder openai:text-embedding-3-small --texts sentences.txt --dry-run
  unembed adapt --encoder text-embedding-3-small --pairs-from pairs.parquet -o models/mine
  unembed adapt --encoder unknown --pairs-from chroma:./chroma#notes -o models/notes
  unembed invert --model models/mpnet "a sentence of your own"
Run the same command again after an interruption: texts that are embedded stay embedded.
"""
_PATH = click.Path(path_type=Path)


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.option(
    "--encoder", metavar="NAME", help="Registry name, hub id or folder; with --pairs-from only a name."
)
@click.option(
    "--texts",
    metavar="[LANG=]PATH",
    help="Sentences to embed, as a source of 'unembed prepare'.  [default: English ones of the package]",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=0),
    default=5000,
    show_default=True,
    help="Texts to fit on, at least 50. 0: none are embedded now; every guided search fits a map by itself.",
)
@click.option(
    "--pairs-from",
    metavar="FILE|STORE",
    help="Texts with their vectors, where the encoder cannot be called: JSON lines, Parquet, "
    "or a vector store by its address (docs/stores.md).",
)
@click.option(
    "--text-field",
    help="Field of the text in --pairs-from.  [default: text; of a store: one with a usual name]",
)
@click.option("--vector-field", help="Field of the vector in --pairs-from.  [default: the only one]")
@click.option(
    "--base", metavar="MODEL", help="Model to adapt: a folder or hub id.  [default: the bundled one]"
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Fine-tune the map for so long after the fit; kept only if it finds more words of pairs set aside.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the drawn texts and of the fine-tuning.",
)
@click.option("--device", help="Where the encoder runs: cpu, cuda, mps.  [default: the encoder's]")
@trust_option
@click.option("--dry-run", is_flag=True, help="Only say how many texts and tokens would be embedded.")
@click.option("-o", "--output", type=_PATH, help="Folder of the adapter; give the same one to resume.")
@json_option
def command(
    encoder: str | None, output: Path | None, dry_run: bool, as_json: bool, texts: str | None, **typed: Any
) -> None:
    """Adapt a model to another encoder, from a few thousand texts and their vectors.

    A linear map lets the model read the other encoder's vectors; the result is a model like others, of a
    megabyte or two, on top of its base.
    """
    from unembed.adaptation.fit_adapter import adapt, estimate

    if dry_run:
        _dry_run(estimate(texts, typed["pairs"], typed["base"], seed=typed["seed"]), encoder, as_json)
        return
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output': the folder of the adapter.")
    model = adapt(encoder, output, texts=texts, quiet=as_json, announce=None if as_json else say, **typed)
    if as_json:
        print_json({"folder": str(output), **model.adapter.model_dump(mode="json", exclude={"digests"})})
        return
    how = "" if model.has_map else " --strategy guided"
    say(f'Try it: unembed invert --model {output}{how} "a sentence of your own"')


def _dry_run(found: dict[str, int], encoder: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"encoder": encoder, **found})
        return
    name = encoder or "the encoder"
    say(f"{found['texts']:,} texts of about {found['tokens']:,} tokens would be embedded with {name}.")
