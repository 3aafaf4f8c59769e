"""One evaluation: every variant on every sample, rows appended as they are measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.measured_rows import measured_rows, sample_row
from unembed.evaluation.metric_figures import AMBIGUOUS
from unembed.evaluation.originals import OriginalsOnce, ambiguous
from unembed.evaluation.recovery import Recovered
from unembed.evaluation.rows import Row, RowLog
from unembed.evaluation.runner import Indices, VariantRunner
from unembed.evaluation.targets import Target, TargetSpec, labels, load_target, victim
from unembed.evaluation.variants import Plan, Variant, make_plan
from unembed.inverter import WINDOW
from unembed.metrics.base import Metric, column
from unembed.metrics.causal import CausalModel, load_causal
from unembed.metrics.denoising import DenoisingAccuracy
from unembed.metrics.registry import make_metrics
from unembed.metrics.word_recall import WordRecall
from unembed.progress import Progress, progress_bar
from unembed.storage import digest_json

FORMAT = 2  # 1 did not know which phrases and which surrogate a search had used


class Evaluation:
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
        base = TargetSpec(None if model is None else str(model), Path(data))
        compared = [TargetSpec(str(folder), Path(own)) for folder, own in models]
        milestones = [TargetSpec(str(folder), Path(data)) for folder in checkpoints]
        self.specs = list(dict.fromkeys((base, *compared, *milestones)))
        self.labels = labels(self.specs)
        self.plan: Plan = make_plan(
            config,
            base=0,
            checkpoints=[self.specs.index(spec) for spec in milestones],
            models=[self.specs.index(spec) for spec in compared],
        )
        self.folder = Path()  # where the run is written
        self._loaded: tuple[int, Target] | None = None
        self._victims: dict[str, Encoder] = {}  # by digest
        self._originals: dict[tuple[str, str], OriginalsOnce] = {}  # by digests of encoder and data
        self._metrics: dict[str, list[Metric]] = {}  # by the data's digest
        self.trained: list[dict[str, str]] = []  # for tables only: rows do not depend on what is told of it
        self.described = [self._describe(number) for number in range(len(self.specs))]

    def target(self, number: int) -> Target:
        """A model with its samples; one is held at a time."""
        if self._loaded is None or self._loaded[0] != number:
            self._loaded = None
            spec, label = self.specs[number], self.labels[number]
            self._loaded = (number, load_target(spec, label, self.config, self._trust))
        return self._loaded[1]

    def _describe(self, number: int) -> dict[str, Any]:
        target = self.target(number)
        self.trained.append(target.trained)
        guided = any(variant.guided for variant in self.plan.variants if variant.target == number)
        return target.describe(self.guide(target) if guided else None)

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the rows depend on: only a run with the same identity resumes a folder."""
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
            **({} if config.num_lengths is None else {"num_lengths": config.num_lengths}),
            "metrics": list(config.measured),
            "perplexity": config.language_model,
            "neighbours": config.neighbours,
            "targets": self.described,
            "variants": [variant.dump() for variant in self.plan.variants],
        }

    def default_folder(self) -> Path:
        """Named after what is measured."""
        name = self.labels[0].replace("/", "-").replace(" ", "-")
        return Path("evaluations") / f"{name}-{digest_json(self.identity)[:8]}"

    def victim(self, target: Target) -> Encoder:
        """The encoder that made the target's vectors."""
        digest = target.data.manifest.encoder.digest
        if digest not in self._victims:
            self._victims[digest] = self._encoder or victim(target.data, self._trust)
        return self._victims[digest]

    def guide(self, target: Target) -> Encoder:
        """The encoder that guides a search on this target."""
        named = self.config.guide
        return target.inverter.guide(self.victim(target) if named is None else named)

    def _describe_guide(self) -> dict[str, Any]:
        """How the search is guided; the targets say by which weights, phrases and surrogate."""
        found = self.described[0]["identity"]["guide"]
        options = {"options": list(self.config.search_option)} if self.config.search_option else {}
        return {**found, "settings": self.config.search_settings, **options}

    def originals_once(self, encoder: Encoder, target: Target) -> OriginalsOnce:
        """The encoder, for measuring: it embeds no original text twice."""
        key = (encoder.info.digest, target.data.digest)
        if key not in self._originals:
            self._originals[key] = OriginalsOnce(encoder, target.samples.texts, self.folder)
        return self._originals[key]

    def metrics(self, target: Target) -> list[Metric]:
        """The metrics, with this target's encoder in them."""
        digest = target.data.digest
        if digest not in self._metrics:
            names = self.config.measured
            encoder = None
            if "cosine" in names:
                encoder = self.originals_once(self.victim(target), target)
            if "perplexity" in names and self._causal is None:
                assert self.config.language_model is not None
                self._causal = load_causal(self.config.language_model)
            self._metrics[digest] = make_metrics(names, encoder=encoder, causal=self._causal)
        return self._metrics[digest]

    def measure(self, log: RowLog) -> None:
        """Every variant on every sample that has no row yet."""
        done = log.done()
        total = sum(self.described[variant.target]["samples"] for variant in self.plan.variants)
        with progress_bar("evaluate", total=total, unit="rows", done=len(done), quiet=self.quiet) as progress:
            for variant in self.plan.variants:
                group = self.plan.read_off(variant)
                if variant != group[-1]:
                    continue  # comes with it
                numbers = self.target(variant.target).samples.numbers.tolist()
                left = [
                    index
                    for index, number in enumerate(numbers)
                    if any((one.name, number) not in done for one in group)
                ]
                if left:
                    self._measure(group, np.array(left), log, progress)

    def _measure(
        self, variants: Sequence[Variant], indices: Indices, log: RowLog, progress: Progress
    ) -> None:
        """One variant, or those that are one search: the last of them is the one that is run."""
        variant, done = variants[-1], log.done()
        target = self.target(variant.target)
        guide = self.guide(target) if variant.guided else None
        runner = VariantRunner(variant, target, self.config, guide, progress)
        progress.describe(f"{self.labels[variant.target]}: {variant.name.split('/', 1)[1]}")
        size = WINDOW * self.config.batch  # as many as the inverter sorts by length together
        for part in np.split(indices, range(size, len(indices), size)):
            if variant.kind == "denoising":
                rows = _model_rows(runner, part, DenoisingAccuracy.name, runner.denoise(part))
            elif variant.kind == "words":
                rows = _model_rows(runner, part, WordRecall.name, runner.recall_words(part))
            elif guide is not None:
                found = runner.search(part, [one.calls for one in variants])
                rows = [
                    row
                    for one, recovered in zip(variants, found, strict=True)
                    for row in self._rows(one, runner, part, recovered, guide)
                    if (row.variant, row.sample) not in done
                ]
            else:
                rows = self._rows(variant, runner, part, runner.run(part))
            log.append(rows)
            progress.advance(len(rows))

    def _rows(
        self,
        variant: Variant,
        runner: VariantRunner,
        indices: Indices,
        found: Sequence[Recovered],
        guide: Encoder | None = None,
    ) -> list[Row]:
        target, samples = runner.target, runner.target.samples
        also = {}
        if guide is not None:
            once, originals = self.originals_once(guide, target), [samples.texts[index] for index in indices]
            also[AMBIGUOUS] = column(ambiguous(once, runner.vectors[indices], originals, found))
        return measured_rows(samples, indices.tolist(), variant.name, found, self.metrics(target), also)


def _model_rows(
    runner: VariantRunner, indices: Indices, metric: str, statistics: NDArray[np.float64]
) -> list[Row]:
    """Rows of what measures the model itself and recovers no text. statistics: [n, k]"""
    return [
        sample_row(
            runner.target.samples,
            index,
            runner.variant.name,
            recovered=None,
            tokens=None,
            statistics={metric: values.tolist()},
        )
        for index, values in zip(indices.tolist(), statistics, strict=True)
    ]
