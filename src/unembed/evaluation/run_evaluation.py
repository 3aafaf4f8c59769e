"""`unembed.evaluate`: measure, then write the rows, the manifest, the summary, tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from unembed.encoders.base import Encoder
from unembed.errors import UsageError
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.figures import Figures
from unembed.evaluation.measure import Evaluation
from unembed.evaluation.rows import ROWS_NAME, RowLog
from unembed.evaluation.summary import summarise
from unembed.metrics.causal import CausalModel
from unembed.report.document import SUMMARY_NAME, Report, write_report
from unembed.report.render import render
from unembed.storage import digest_file, folder_lock, settle_plan, write_json

MANIFEST_NAME = "manifest.json"


def evaluate(
    model: str | Path | None,
    data: str | Path,
    output: str | Path | None = None,
    config: EvaluateConfig | None = None,
    *,
    models: Sequence[tuple[str | Path, str | Path]] = (),
    checkpoints: Sequence[str | Path] = (),
    encoder: Encoder | None = None,
    causal: CausalModel | None = None,
    trust_remote_code: bool = False,
    plots: bool = True,
    quiet: bool = True,
    announce: Callable[[str], None] | None = None,
    **settings: Any,
) -> Report:
    """Measure how much a model recovers from the vectors of prepared data, beside the floors.

    >>> import unembed
    >>> report = unembed.evaluate("models/compact", "data/short", samples=200, noise=(0, 0.1))
    >>> [table.name for table in report.tables]
    ['main', 'noise']
    >>> model, random, shuffled, nearest = report.tables[0].rows
    >>> model.figures["token_f1"]
    Figure(value=0.718, low=0.701, high=0.735, n=200)

    Args:
        model: A folder or a hub id; None is the bundled model.
        data: A folder of prepared data that was embedded with the model's encoder.
        output: The folder for rows, manifest, summary, tables and plots. By default it is named after
            what is measured. The same call resumes an interrupted run.
        config: What to measure. `settings` are its fields, and take precedence.
        models: Further models, each with its data, for a table that compares them.
        checkpoints: Milestones of a training run, measured on `data`.
        encoder, causal: Use these instead of loading them by name.
        trust_remote_code: Whether an encoder that is loaded may run code that it brings along.
        plots: Draw PNG and SVG.
        quiet: Show no progress bar.
        announce: Called with a sentence about where things are.

    Returns:
        The summary: `tables` of figures with their intervals; `facts` and `about` say what was measured.
    """
    config = _configure(config, settings)
    run = Evaluation(
        config, model, data, models, checkpoints, encoder, causal, trust_remote_code, quiet=quiet
    )
    folder = run.folder = Path(output) if output is not None else run.default_folder()
    tell = announce or (lambda text: None)
    with folder_lock(folder):
        settle_plan(folder, run.identity)
        with RowLog(folder / ROWS_NAME) as log:
            if log.rows:
                tell(f"Resuming {folder}: {len(log.rows):,} rows are there.")
            run.measure(log)
            figures = Figures(log.rows, run.metrics(run.target(0)), seed=config.seed)
            report = summarise(config, run.plan, run.described, figures, about=run.identity)
        write_json(
            folder / MANIFEST_NAME,
            {**report.about, "rows": len(log.rows), "rows_sha256": digest_file(folder / ROWS_NAME)},
        )
        write_report(folder / SUMMARY_NAME, report)
        render(report, folder, plots=plots)
    tell(f"Rows, summary, tables and plots are in {folder}.")
    return report


def _configure(config: EvaluateConfig | None, settings: dict[str, Any]) -> EvaluateConfig:
    """The configuration with some of its fields replaced."""
    given = {} if config is None else config.model_dump(exclude_unset=True)
    try:
        return EvaluateConfig(**{**given, **settings})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{name}: {first['msg'].removeprefix('Value error, ')}.",
            hint=f"The settings of an evaluation: {', '.join(EvaluateConfig.model_fields)}.",
        ) from error
