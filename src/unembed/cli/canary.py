"""`unembed canary`: sentences with secrets, for planting."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from unembed.cli.console import json_option, print_json, say

_EXAMPLES = """\b
Examples:
  unembed canary -n 20 -o canaries.jsonl      (keep it: it has the secrets)
  unembed canary -n 20 -o canaries.csv
  unembed canary -n 5 --seed 7                (the same each time: for tests)
Put the sentences into the collection as documents, audit it, and see which secrets come back.
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "-n", "--count", type=click.IntRange(1), default=20, show_default=True, help="How many canaries to make."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Makes the same canaries each time; whoever knows it knows the secrets.  [default: true randomness]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File: .jsonl or .csv with the secrets, .txt with the sentences alone.  [default: print sentences]",
)
@json_option
def command(count: int, seed: int | None, output: Path | None, as_json: bool) -> None:
    """Make sentences with secrets that cannot be guessed, to plant in a store and look for afterwards.

    Codes, PINs, rare names and passphrases in turn; each comes with the bits that guessing it would take.
    """
    from unembed.canaries import make_canaries, write_canaries
    from unembed.canaries.canary_file import check_suffix

    if output is not None:
        check_suffix(output)
    made = make_canaries(count, seed=seed)
    if output is not None:
        write_canaries(output, made)
    if as_json:
        print_json([asdict(canary) for canary in made])
    elif output is None:
        for canary in made:
            click.echo(canary.text)
    if output is not None:
        least = min(made, key=lambda canary: canary.bits)
        say(f"{len(made)} canaries in {output}; the easiest takes {least.bits:.0f} bits to guess.")
