"""`unembed identify`: which encoder made these vectors."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from unembed.cli.console import json_option, print_json, say
from unembed.cli.options import trust_option

if TYPE_CHECKING:
    from unembed.identification import Candidate, Identification
    from unembed.stores.base import Row

_EXAMPLES = """\b
Examples:
  unembed identify vectors.npy
  unembed identify documents.parquet --text-field page_content
  unembed identify qdrant:./store#documents --json
  unembed identify vectors.parquet --encoder openai:text-embedding-3-small
"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.argument("source", metavar="FILE|STORE")
@click.option("--vector", metavar="NAME", help="Field of the vectors, where there are several.")
@click.option("--text-field", metavar="NAME", help="Field of the texts.  [default: found by its name]")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Vectors to look at, drawn at random.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    help="Texts to embed with each encoder that may have made the vectors.",
)
@click.option(
    "--encoder",
    "encoders",
    metavar="NAME",
    multiple=True,
    help="Encoder to compare with: a name, a hub id, a folder, or openai:MODEL, which is sent the texts. Can "
    "be repeated.  [default: all that are on this machine]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the drawn vectors."
)
@click.option(
    "--timeout", type=float, default=30.0, show_default=True, help="Seconds that a server may take to answer."
)
@trust_option
@json_option
def command(
    source: str,
    vector: str | None,
    text_field: str | None,
    samples: int,
    tries: int,
    encoders: tuple[str, ...],
    seed: int,
    timeout: float,
    trust_remote_code: bool,
    as_json: bool,
) -> None:
    """Say which encoder made the vectors of a file or a store, how sure that is, and what speaks for it.

    Where there are texts, a few are embedded again: the same vectors come out, or not. That also finds
    prefixes, cut texts, cut vectors, two encoders in one collection, and texts of other vectors. Without
    texts, the vectors' statistics are compared with those of the encoders that unembed knows. Vectors that
    fit none are not given a name.
    """
    import numpy as np

    from unembed.identification import identify
    from unembed.progress import progress_bar
    from unembed.stores.registry import open_store
    from unembed.stores.sampling import sample_rows

    store = open_store(source, vector=vector, text_field=text_field, timeout=timeout)
    try:
        info = store.describe()
        with progress_bar("Reading", total=store.count(), unit="rows", quiet=as_json) as progress:
            rows = sample_rows(store, samples, seed, progress=progress)
    finally:
        store.close()
    vectors = np.stack([row.vector for row in rows])
    with progress_bar("Comparing", total=None, unit="encoders", quiet=as_json) as progress:
        found = identify(
            vectors,
            _texts(rows),
            encoders=encoders or None,
            tries=tries,
            seed=seed,
            metadata=info.metadata,
            trust_remote_code=trust_remote_code,
            progress=progress,
        )
    if as_json:
        print_json({"source": info.address, **dataclasses.asdict(found)})
        return
    _show(found)


def _texts(rows: list[Row]) -> list[str | None] | None:
    texts = [row.text for row in rows]
    return texts if any(texts) else None


def _show(found: Identification) -> None:
    from unembed.identification import Verdict

    click.echo(_headline(found))
    if found.verdict is not Verdict.UNKNOWN:
        click.echo(f"Confidence {found.confidence:.3f} ({found.sure}). {found.derived}")
    for one in found.evidence:
        click.echo(f"  {one.name:11} {one.says}")
    if found.verdict is Verdict.UNKNOWN and not found.compared:
        say("With texts, or with --encoder NAME of a guess, more can be said.")


def _headline(found: Identification) -> str:
    from unembed.identification import Verdict

    names = ", ".join(_candidate(one) for one in found.candidates)
    return {
        Verdict.IDENTIFIED: f"Identified: {names}.",
        Verdict.LIKELY: f"Likely: {names}.",
        Verdict.MIXED: f"Mixed: {names or 'vectors of two encoders, neither known'}{_rest(found)}.",
        Verdict.WRONG_TEXTS: f"Wrong texts: the vectors are of {names}, but not of these texts.",
        Verdict.UNKNOWN: "Unknown: these vectors fit no encoder that could be compared. No claim.",
    }[found.verdict]


def _candidate(one: Candidate) -> str:
    cut = f", cut from {one.truncated_from} numbers" if one.truncated_from else ""
    done = f", {one.preparation}" if one.preparation else ""
    return f"{one.encoder}{cut}{done} ({one.share:.0%} of the vectors)"


def _rest(found: Identification) -> str:
    if not found.candidates:
        return ""
    rest = 1 - sum(one.share for one in found.candidates)
    return f", something else ({rest:.0%})" if rest > 0.005 else ""
