"""`unembed.evaluate`: measure, then write the rows, the manifest, the summary, tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unembed.config_file import settings_from
from unembed.encoders.base import Encoder
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.measure import Evaluation
from unembed.evaluation.metric_figures import Figures
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
    **fields: Any,
) -> Report:
    """Measure how much a model recovers from the vectors of prepared data: what `unembed evaluate` does.

        >>> report = unembed.evaluate(None, "data/short", min_tokens=4, max_tokens=16, known_length=True)
        >>> [row.label for row in report.tables[0].rows]
        ['confidence', 'Random tokens', 'Shuffled vector', 'Nearest training text']
        >>> report.tables[0].rows[0].figures["token_f1"]  # value, low, high, n

    `model` is a folder or a hub id; None is the bundled model. `data` was embedded with the model's encoder.
    `fields` are the fields of `EvaluateConfig`, on top of `config`. `models` are further models, each with
    its data, for a table that compares them; `checkpoints` are milestones of a training run. `encoder` and
    `causal` replace what would be loaded by name; an encoder that is loaded runs code that it brings along
    only with `trust_remote_code`. `announce` is called with a sentence about where things are.

    Rows, manifest, summary, tables and plots go to `output`, by default a folder that is named after what
    is measured. Called again after an interruption, it resumes. Returns the summary.
    """
    config = settings_from(EvaluateConfig, config, fields)
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
            report = summarise(
                config, run.plan, run.described, figures, trained=run.trained, about=run.identity
            )
        write_json(
            folder / MANIFEST_NAME,
            {**report.about, "rows": len(log.rows), "rows_sha256": digest_file(folder / ROWS_NAME)},
        )
        write_report(folder / SUMMARY_NAME, report)
        render(report, folder, plots=plots)
    tell(f"Rows, summary, tables and plots are in {folder}.")
    return report
