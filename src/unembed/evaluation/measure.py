"""The evaluation itself: arms one after the other, rows appended as they come, then the summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unembed.encoders.base import Encoder
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.figures import AMBIGUOUS, Lines
from unembed.evaluation.recovery import Recovered, ambiguous
from unembed.evaluation.rows import ROWS_NAME, Row, RowLog
from unembed.evaluation.runner import Attack
from unembed.evaluation.summary import summarise
from unembed.evaluation.targets import Place, Target, labels, load_target, victim
from unembed.evaluation.variants import Arm, Plan, make_plan
from unembed.inverter import WINDOW
from unembed.metrics.base import Metric, Pair, column
from unembed.metrics.causal import CausalModel, load_causal
from unembed.metrics.denoising import DenoisingAccuracy
from unembed.metrics.registry import make_metrics
from unembed.progress import Progress, progress_bar
from unembed.report.document import SUMMARY_NAME, Report, write_report
from unembed.report.render import render
from unembed.storage import digest_file, digest_json, folder_lock, settle_plan, write_json

FORMAT = 1
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
) -> Report:
    """Measure a model on prepared data; write rows, manifest, summary, tables and plots to `output`.

    model: a folder or a hub id; None is the bundled one. models: further models, each with its data (a
    table that compares them). checkpoints: milestones of a training run, on `data`. encoder and causal
    replace what would be loaded by name. trust_remote_code: whether an encoder that is loaded may
    run code that it brings along. Without `output` the folder is named after what is measured, so
    that the same call goes on where an earlier one was interrupted. `announce` is told where things are.
    """
    config = config or EvaluateConfig()
    runner = _Runner(
        config, model, data, models, checkpoints, encoder, causal, trust_remote_code, quiet=quiet
    )
    folder = Path(output) if output is not None else runner.default_folder()
    tell = announce or (lambda text: None)
    with folder_lock(folder):
        settle_plan(folder, runner.identity)
        with RowLog(folder / ROWS_NAME) as log:
            if log.rows:
                tell(f"Going on with {folder}: {len(log.rows):,} rows are there.")
            runner.measure(log)
            lines = Lines(log.rows, runner.metrics(runner.target(0)), seed=config.seed)
            report = summarise(config, runner.plan, runner.described, lines, about=runner.identity)
        write_json(
            folder / MANIFEST_NAME,
            {**report.about, "rows": len(log.rows), "rows_sha256": digest_file(folder / ROWS_NAME)},
        )
        write_report(folder / SUMMARY_NAME, report)
        render(report, folder, plots=plots)
    tell(f"Rows, summary, tables and plots are in {folder}.")
    return report


class _Runner:
    """One evaluation: its targets, its plan, its metrics."""

    def __init__(
        self,
        config: EvaluateConfig,
        model: str | Path | None,
        data: str | Path,
        models: Sequence[tuple[str | Path, str | Path]],
        checkpoints: Sequence[str | Path],
        encoder: Encoder | None,
        causal: CausalModel | None,
        trust_remote_code: bool,
        *,
        quiet: bool,
    ) -> None:
        self.config, self.quiet = config, quiet
        self._encoder, self._causal = encoder, causal
        self._trust = trust_remote_code
        base = Place(None if model is None else str(model), Path(data))
        compared = [Place(str(folder), Path(own)) for folder, own in models]
        milestones = [Place(str(folder), Path(data)) for folder in checkpoints]
        self.places = list(dict.fromkeys((base, *compared, *milestones)))
        self.labels = labels(self.places)
        self._loaded: tuple[int, Target] | None = None
        self.described = [self.target(number).describe() for number in range(len(self.places))]
        self.plan: Plan = make_plan(
            config,
            base=0,
            checkpoints=[self.places.index(place) for place in milestones],
            models=[self.places.index(place) for place in compared],
        )
        self._metrics: dict[str, list[Metric]] = {}  # by the encoder's digest
        self._victims: dict[str, Encoder] = {}  # by its digest

    def target(self, number: int) -> Target:
        """A model with its samples; one is held at a time."""
        if self._loaded is None or self._loaded[0] != number:
            self._loaded = None
            self._loaded = (
                number,
                load_target(self.places[number], self.labels[number], self.config, self._trust),
            )
        return self._loaded[1]

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the rows depend on: a folder goes on only with the same."""
        config = self.config
        return {
            **({"guide": self._describe_guide()} if self.plan.guided else {}),
            "kind": "evaluation",
            "format": FORMAT,
            "split": config.split,
            "tokens": [config.min_tokens, config.max_tokens],
            "samples": config.samples,
            "seed": config.seed,
            "length_known": config.known_length,
            "metrics": list(config.measured),
            "perplexity": config.language_model,
            "neighbours": config.neighbours,
            "targets": self.described,
            "arms": [arm.dump() for arm in self.plan.arms],
        }

    def default_folder(self) -> Path:
        name = self.labels[0].replace("/", "-").replace(" ", "-")
        return Path("evaluations") / f"{name}-{digest_json(self.identity)[:8]}"

    def victim(self, target: Target) -> Encoder:
        """The encoder under attack."""
        digest = target.data.manifest.encoder.digest
        if digest not in self._victims:
            self._victims[digest] = self._encoder or victim(target.data, self._trust)
        return self._victims[digest]

    def guide(self, target: Target) -> Encoder:
        """The encoder that guides a search on this target."""
        named = self.config.guide
        return target.inverter.guide(self.victim(target) if named is None else named)

    def _describe_guide(self) -> dict[str, Any]:
        """What a search depends on besides the model."""
        target = self.target(0)
        info, inverter = self.guide(target).info, target.inverter
        scout = inverter.surrogate.info.digest if inverter.has_surrogate else None
        options = {"options": list(self.config.search_option)} if self.config.search_option else {}
        return {"name": info.name, "digest": info.digest, "scout": scout, **options}

    def metrics(self, target: Target) -> list[Metric]:
        """The metrics, with this target's encoder in them."""
        digest = target.data.manifest.encoder.digest
        if digest not in self._metrics:
            names = self.config.measured
            encoder = None
            if "cosine" in names:
                encoder = self.victim(target)
            if "perplexity" in names and self._causal is None:
                assert self.config.language_model is not None
                self._causal = load_causal(self.config.language_model)
            self._metrics[digest] = make_metrics(names, encoder=encoder, causal=self._causal)
        return self._metrics[digest]

    def measure(self, log: RowLog) -> None:
        """Every arm on every sample that has no row yet."""
        done = log.done()
        total = sum(self.described[arm.target]["samples"] for arm in self.plan.arms)
        with progress_bar("evaluate", total=total, unit="rows", done=len(done), quiet=self.quiet) as progress:
            for arm in self.plan.arms:
                group = self.plan.read_off(arm)
                if arm != group[-1]:
                    continue  # comes with it
                numbers = self.target(arm.target).samples.numbers.tolist()
                left = [
                    place
                    for place, number in enumerate(numbers)
                    if any((one.name, number) not in done for one in group)
                ]
                if left:
                    progress.describe(f"{self.labels[arm.target]}: {arm.name.split('/', 1)[1]}")
                    self._measure(group, np.array(left), log, progress)

    def _measure(
        self, arms: Sequence[Arm], places: np.ndarray[Any, Any], log: RowLog, progress: Progress
    ) -> None:
        """One arm, or those that are one search: the last of them is the one that is run."""
        arm, done = arms[-1], log.done()
        target = self.target(arm.target)
        guide = self.guide(target) if arm.guided else None
        attack = Attack(arm, target, self.config, guide)
        size = WINDOW * self.config.batch  # as many as the inverter sorts by length together
        for part in np.split(places, range(size, len(places), size)):
            if arm.kind == "denoising":
                rows = self._denoising_rows(attack, part)
            elif arm.guided:
                found = attack.search(part, [one.calls for one in arms])
                rows = [
                    row
                    for one, recovered in zip(arms, found, strict=True)
                    for row in self._rows(one, attack, part, recovered)
                    if (row.arm, row.sample) not in done
                ]
            else:
                rows = self._rows(arm, attack, part, attack.run(part))
            log.append(rows)
            progress.advance(len(rows))

    def _denoising_rows(self, attack: Attack, places: np.ndarray[Any, Any]) -> list[Row]:
        samples = attack.target.samples
        return [
            Row(
                arm=attack.arm.name,
                sample=int(samples.numbers[place]),
                language=samples.languages[place],
                length=len(samples.tokens[place]),
                target=samples.texts[place],
                recovered=None,
                tokens=None,
                statistics={DenoisingAccuracy.name: hits.tolist()},
            )
            for place, hits in zip(places.tolist(), attack.denoise(places), strict=True)
        ]

    def _rows(
        self, arm: Arm, attack: Attack, places: np.ndarray[Any, Any], found: Sequence[Recovered]
    ) -> list[Row]:
        samples = attack.target.samples
        pairs = [
            Pair(
                samples.texts[place],
                recovered.text,
                tuple(samples.tokens[place]),
                tuple(recovered.tokens),
                samples.vectors[place],
                samples.languages[place],
            )
            for place, recovered in zip(places.tolist(), found, strict=True)
        ]
        statistics = {metric.name: metric.statistics(pairs) for metric in self.metrics(attack.target)}
        if attack.guide is not None:
            originals = [pair.target for pair in pairs]
            as_near = ambiguous(attack.guide, attack.vectors[places], originals, found)
            statistics[AMBIGUOUS] = column(as_near)
        return [
            Row(
                arm=arm.name,
                sample=int(samples.numbers[place]),
                language=samples.languages[place],
                length=len(samples.tokens[place]),
                target=samples.texts[place],
                recovered=recovered.text,
                tokens=recovered.tokens,
                score=recovered.score,
                forward_passes=recovered.forward_passes,
                encoder_calls=recovered.encoder_calls,
                seconds=recovered.seconds,
                statistics={name: values[row].tolist() for name, values in statistics.items()},
            )
            for row, (place, recovered) in enumerate(zip(places.tolist(), found, strict=True))
        ]
