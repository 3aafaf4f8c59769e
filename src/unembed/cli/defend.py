"""`unembed defend`: a file of vectors, defended."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import json_option, print_json, print_table, say
from unembed.errors import UsageError

if TYPE_CHECKING:
    from unembed.defences import Defence, DefenceInfo
    from unembed.defences.base import Floats

_EXAMPLES = """\b
Examples:
  unembed defend --list
  unembed defend --method gaussian:sigma=0.02 vectors.parquet -o noisy.parquet
  unembed defend --method rotation vectors.npy -o rotated.npy --save-defence rotation/
  unembed defend --defence rotation/ --queries queries.npy -o rotated-queries.npy
What each does, and how well it holds: docs/defences.md.
"""
_PATH = click.Path(path_type=Path)


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.argument("source", metavar="[FILE]", type=_PATH, required=False)
@click.option("-o", "--output", type=_PATH, help="File to write: of the same format, or .npy.")
@click.option("--method", metavar="NAME[:PARAMETER=VALUE,...]", help="The defence; --list shows all.")
@click.option("--defence", "folder", type=_PATH, help="A saved defence, instead of --method.")
@click.option("--save-defence", "save", type=_PATH, help="Folder to keep the defence in, with its secret.")
@click.option("--queries", is_flag=True, help="The file holds queries: make them what the defence demands.")
@click.option("--field", metavar="NAME", help="Column, key or array of the vectors, where there are several.")
@click.option("--fit-on", metavar="FILE|STORE", help="Vectors to fit the defence on.  [default: the input's]")
@click.option(
    "--fit-samples",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="At most so many of them, drawn at random.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Makes the same secret and noise each time; whoever knows it can undo them.  "
    "[default: true randomness]",
)
@click.option("--list", "listing", is_flag=True, help="Show the defences, what is secret, and parameters.")
@json_option
def command(
    source: Path | None,
    output: Path | None,
    method: str | None,
    folder: Path | None,
    save: Path | None,
    queries: bool,
    field: str | None,
    fit_on: str | None,
    fit_samples: int,
    seed: int | None,
    listing: bool,
    as_json: bool,
) -> None:
    """Defend the vectors of a file, so that less of their texts can be read out of them.

    Ids, texts and other columns stay. Codes (int8, binary, pq) are written decoded, as an attacker would read
    them. Memory does not grow with the file.
    """
    if listing:
        _list(as_json)
        return
    if source is None or output is None:
        raise click.UsageError("Give a file of vectors, and -o FILE.")
    from unembed.defences import parse_defence
    from unembed.defences.saved_defence import load_defence
    from unembed.progress import progress_bar
    from unembed.vectors.files import open_vectors
    from unembed.vectors.rewritten import check_output, rewrite_vectors

    _check_choice(method, folder, save, seed)
    count = open_vectors(source, field=field).count()
    check_output(source, output)
    if folder is not None:
        defence = load_defence(folder)
        key = defence.seed or 0
    else:
        key = seed if seed is not None else secrets.randbits(256)
        defence = parse_defence(str(method))
        _check_queries(defence.info, save, queries)
        _fit(defence, fit_on, source, field, fit_samples, key, as_json)

    def change(vectors: Floats) -> Floats:
        return defence.query(vectors) if queries else defence.apply(vectors, seed=key)

    def finish() -> None:
        if save is not None:
            defence.save(save)

    with progress_bar("Defending", total=count, unit="vectors", quiet=as_json) as progress:
        rows = rewrite_vectors(source, output, change, progress=progress, field=field, finish=finish)
    _report(defence, source, output, save, rows, queries, as_json)


def _check_choice(method: str | None, folder: Path | None, save: Path | None, seed: int | None) -> None:
    if (method is None) == (folder is None):
        raise click.UsageError(
            "Give one of --method and --defence; 'unembed defend --list' shows the methods."
        )
    if folder is not None and (save is not None or seed is not None):
        raise click.UsageError("A saved defence brings its seed along: leave out --save-defence and --seed.")
    if save is not None and save.exists():
        raise UsageError(f"{save} is already there.", hint="Give another folder, or use it with --defence.")


def _check_queries(info: DefenceInfo, save: Path | None, queries: bool) -> None:
    """Refuse a defence that is made here and lost afterwards, where queries need the same one."""
    if not info.needs_fit or not info.queries_too:
        return
    if queries:
        raise UsageError(
            f"Queries need the very '{info.name}' that the documents went through.",
            hint="Give the folder that was kept with --save-defence: --defence FOLDER --queries.",
        )
    if save is None:
        raise UsageError(
            f"Queries must go through '{info.name}' as documents do, and it would be lost.",
            hint="Keep it with --save-defence FOLDER; 'unembed defend --defence FOLDER --queries' takes it.",
        )


def _fit(
    defence: Defence,
    fit_on: str | None,
    source: Path,
    field: str | None,
    samples: int,
    seed: int,
    quiet: bool,
) -> None:
    import numpy as np

    from unembed.progress import progress_bar
    from unembed.stores.registry import open_store
    from unembed.stores.sampling import sample_rows
    from unembed.vectors.files import open_vectors

    if not defence.info.needs_fit and fit_on is None:
        defence.fit(next(open_vectors(source, field=field).blocks()), seed=seed)  # for what `describe` says
        return
    store = open_store(fit_on or str(source), vector=field if fit_on is None else None)
    with (
        closing(store),
        progress_bar("Reading", total=store.count(), unit="rows", quiet=quiet) as progress,
    ):
        rows = sample_rows(store, samples, seed, progress=progress)
    if not quiet:
        say(f"Fitting {defence.info.title} on {len(rows):,} vectors.")
    steps = defence.describe().get("steps")
    with progress_bar("Fitting", total=int(steps) if steps else None, unit="steps", quiet=quiet) as progress:
        defence.fit(np.stack([row.vector for row in rows]), seed=seed, progress=progress)


def _report(
    defence: Defence, source: Path, output: Path, save: Path | None, rows: int, queries: bool, as_json: bool
) -> None:
    info, described = defence.info, defence.describe()
    dimension = defence.fitted_dimension or 0
    if as_json:
        print_json(
            {
                "input": str(source),
                "output": str(output),
                "defence": described,
                "rows": rows,
                "queries": queries,
                "dimension": defence.dimension(dimension),
                "bytes_per_vector": defence.bytes_per_vector(dimension),
                "secret": info.secret,
                "queries_too": info.queries_too,
                "saved": None if save is None else str(save),
            }
        )
        return
    what = ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in described.items()
        if name != "method"
    )
    say(f"{rows:,} vectors in {output}: {info.title}{f' ({what})' if what else ''}.")
    if queries:
        return
    if save is not None:
        say(f"{save} keeps the defence. Whoever has its file of secrets can undo what is secret of it.")
    if info.queries_too:
        again = f"--defence {save}" if save is not None else "with the same options and"
        say(f"Queries must be defended too: unembed defend {again} --queries FILE -o FILE")
    else:
        say("Queries stay as they are.")


def _list(as_json: bool) -> None:
    from unembed.defences.registry import METHODS

    found: list[dict[str, Any]] = []
    for name, method in METHODS.items():
        info = method.info
        fields = method.parameters_type.model_fields
        found.append(
            {
                "name": name,
                "title": info.title,
                "secret": info.secret,
                "random": info.random,
                "queries_too": info.queries_too,
                "needs_fit": info.needs_fit,
                "strength": info.strength,
                "strengths": list(info.strengths),
                "parameters": {
                    key: {"default": one.default, "help": one.description} for key, one in fields.items()
                },
                "source": info.source,
            }
        )
    if as_json:
        print_json(found)
        return
    print_table(
        ["name", "what it is", "secret", "queries", "parameters"],
        [
            [
                one["name"],
                one["title"],
                one["secret"] or "-",
                "defended too" if one["queries_too"] else "clean",
                ", ".join(
                    name if about["default"] is None else f"{name}={about['default']}"
                    for name, about in one["parameters"].items()
                )
                or "-",
            ]
            for one in found
        ],
    )
