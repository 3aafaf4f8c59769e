"""`unembed invert` over a dataset: many files, or many machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unembed.cli.console import print_json, say
from unembed.cluster.cluster_config import ClusterConfig
from unembed.invert_config import InvertConfig

if TYPE_CHECKING:
    from unembed.cluster.invert_dataset import DatasetInversion, Outcome


@dataclass(frozen=True)
class DatasetOptions:
    """What was typed that only a dataset has."""

    cluster: ClusterConfig
    id_field: str | None
    part_rows: int
    dry_run: bool


def is_for_dataset(source: str, output: str | None, asked: DatasetOptions) -> bool:
    """Whether the work is cut into parts: several files, several machines, or a folder to write."""
    from unembed.vectors.vector_dataset import is_dataset

    if output is None and not asked.dry_run:
        return False
    folder = output is not None and ("://" in output or not Path(output).suffix)
    return (
        folder or asked.cluster.on is not None or asked.dry_run or bool(asked.id_field) or is_dataset(source)
    )


def invert_dataset(
    source: str,
    output: str | None,
    config: InvertConfig,
    asked: DatasetOptions,
    *,
    warn: Callable[[str], None],
    as_json: bool,
    **more: Any,
) -> tuple[int, int]:
    """Make or resume the output, or say what that would take. Returns the rows, and how many failed."""
    from unembed.cluster.invert_dataset import DatasetInversion
    from unembed.strategies import make_strategy

    make_strategy(config.strategy, config.options)  # a mistyped strategy is an error before a model is loaded
    run = DatasetInversion(
        source,
        output,
        config,
        asked.cluster,
        id_field=asked.id_field,
        part_rows=asked.part_rows,
        warn=warn,
        **more,
    )
    if asked.dry_run:
        _forecast(run, as_json=as_json)
        return 0, 0
    outcome = run.run(quiet=as_json)
    _print(outcome, as_json=as_json)
    return outcome.rows, outcome.failed


def _forecast(run: DatasetInversion, *, as_json: bool) -> None:
    found = run.forecast()
    if as_json:
        print_json({"dataset": run.data.name, "files": len(run.data.files), **found.model_dump()})
        return
    click.echo(f"{run.data.name}: {run.data.rows:,} vectors in {len(run.data.files):,} files.")
    click.echo(f"About {found.line()}")


def _print(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        texts = outcome.rows - outcome.failed
        summary = {"output": outcome.output, "texts": texts, "failed": outcome.failed}
        spent = outcome.throughput.model_dump(exclude={"rows"})
        click.echo(json.dumps({**summary, "earlier": outcome.earlier, **spent}))
        return
    earlier = f", {outcome.earlier:,} of them from earlier." if outcome.earlier else "."
    say(f"{outcome.rows:,} rows in {outcome.output}{earlier}")
    if outcome.throughput.rows:
        say(outcome.throughput.line())
