"""A model's card with what was measured: its evaluations' tables, and texts drawn by seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unembed.errors import DataError, MismatchError
from unembed.evaluation.rows import ROWS_NAME, Row, read_rows
from unembed.model.card import model_card
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import WEIGHTS
from unembed.report import Report, read_report
from unembed.report.cells import definitions
from unembed.report.document import Table
from unembed.report.markdown import escape, table_markdown

BY_LENGTH = "lengths"


def evaluated_card(
    checkpoint: Checkpoint,
    evaluations: Sequence[tuple[str, Path]],
    *,
    about: str = "",
    examples: int = 10,
    seed: int = 0,
) -> str:
    """The card of a checkpoint. `evaluations`: a title and the folder that `unembed evaluate` wrote, each.

    `about` is Markdown on what no file knows: the texts, their licences, the machine.
    """
    parts = [about.strip()] if about.strip() else []
    defined: dict[str, str] = {}
    for title, folder in evaluations:
        report = read_report(folder)
        _same_model(checkpoint, report, folder)
        defined.update(definitions(report))
        parts.append(
            f"## {title}\n\n" + "\n".join(f"- {name}: {text}" for name, text in report.facts.items())
        )
        parts += [table_markdown(_shown(table), level=3) for table in report.tables]
        parts.append(_examples(report, folder, examples, seed))
    if defined:
        parts.append(f"## Definitions\n\n{_list(defined)}")
    return model_card(checkpoint.config, "\n\n".join(parts))


def _list(named: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in named.items())


def _same_model(checkpoint: Checkpoint, report: Report, folder: Path) -> None:
    measured = [target["model"] for target in report.about["targets"]]
    if checkpoint.config.digests.get(WEIGHTS) not in measured:
        raise MismatchError(
            f"{folder} is an evaluation of another model.", hint="Evaluate this one: unembed evaluate --model"
        )


def _shown(table: Table) -> Table:
    """Floors are compared with whole sets of texts: length by length they would hide the model's rows."""
    if table.name != BY_LENGTH:
        return table
    return table.model_copy(update={"rows": tuple(row for row in table.rows if not row.floor)})


def _examples(report: Report, folder: Path, count: int, seed: int) -> str:
    """Texts drawn by the seed, whatever came back, as the first way of decoding read them."""
    variants = report.about.get("variants") or report.about["arms"]  # their name in earlier files
    variant = variants[0]["name"]
    rows = sorted((row for row in read_rows(folder / ROWS_NAME) if row.variant == variant), key=_sample)
    if not rows:
        raise DataError(f"{folder} holds no rows of '{variant}'.", hint="Run the evaluation to its end.")
    drawn = np.random.default_rng(seed).permutation(len(rows))[:count]
    lines = [f"### {len(drawn)} texts drawn with seed {seed}", "", "| text | recovered |", "| :-- | :-- |"]
    lines += [f"| {escape(rows[i].target)} | {escape(rows[i].recovered or '')} |" for i in drawn.tolist()]
    return "\n".join(lines)


def _sample(row: Row) -> int:
    return row.sample
