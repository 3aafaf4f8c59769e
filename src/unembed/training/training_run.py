"""One run: its model, data, averages and folder, and what it writes there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from unembed.data.prepared import PreparedData
from unembed.model.checkpoint import Checkpoint
from unembed.storage import write_json
from unembed.training.config import TrainConfig
from unembed.training.corrupted_batch import Rank
from unembed.training.dataset import open_corpus
from unembed.training.ema import Average
from unembed.training.fresh_model import build
from unembed.training.log import RunLog, read_log
from unembed.training.optimiser import make_optimiser
from unembed.training.trainer_state import Progress, load_state, save_state, started
from unembed.training.training_objective import make_objective
from unembed.training.training_precision import TrainingPrecision
from unembed.training.validate import free_running, validation_bound
from unembed.version import __version__

# Called with the kind of an event, the progress and the figures, for example by the command line's display.
# Besides what is logged there is a "step", without figures, for every update.
Watcher = Callable[[str, Progress, dict[str, Any]], None]


class TrainingRun:
    """Everything that lasts from step to step."""

    def __init__(self, config: TrainConfig, accelerator: Accelerator, watch: Watcher) -> None:
        self.config = config
        self.accelerator = accelerator
        self.rank = Rank(accelerator.process_index, accelerator.num_processes)
        self.main = accelerator.is_main_process
        self._watch = watch

        # Data and a fresh model are functions of the configuration alone; the state then takes over.
        self.corpus = open_corpus(config)
        self.checkpoint, self.counts, self._started_from = build(config, self.corpus)
        self.denoiser = self.checkpoint.denoiser.to(accelerator.device)
        self.average = Average(self.denoiser, config.ema)
        self.optimiser = make_optimiser(self.denoiser, config)
        self._states = config.output / "state"
        self._identity = run_identity(config, self.corpus.folders)
        restored = load_state(
            self._states, self.denoiser, self.average.network, self.optimiser, self._identity
        )
        self.progress = started(restored, config.precision, accelerator.device)
        self.ended = any(
            line["kind"] == "end" and line["step"] == self.progress.step for line in read_log(config.output)
        )
        self._log = RunLog(config.output, from_step=self.progress.step) if self.main else None
        self._began = time.monotonic() - self.progress.seconds
        if self.main:
            write_json(config.output / "train.json", config.model_dump(mode="json"))

    @property
    def precision(self) -> TrainingPrecision:
        """What this sitting computes in; on a GPU accelerate has decided."""
        if self.accelerator.mixed_precision == "bf16":
            return "bf16"
        return (self.progress.precision or "fp32") if self.accelerator.device.type == "cpu" else "fp32"

    def objective(self) -> nn.Module:
        """What is minimised, in the run's precision; where accelerate casts, nothing else must."""
        casts = self.accelerator.mixed_precision == "bf16"
        return make_objective(self.denoiser, self.config, "fp32" if casts else self.precision)

    def tell(self, kind: str, figures: dict[str, Any]) -> None:
        """Log an event and pass it to the watcher; only the first process does."""
        if self._log is not None:
            self._log.write(kind, self.progress.step, seconds=round(self.progress.seconds, 1), **figures)
            self._watch(kind, self.progress, figures)

    def count(self, samples: int) -> None:
        """One more update is done."""
        self.progress = self.progress.model_copy(
            update={
                "step": self.progress.step + 1,
                "samples": self.progress.samples + samples,
                "seconds": self._clock(),
            }
        )
        if self.main:
            self._watch("step", self.progress, {})

    def _clock(self) -> float:
        """Seconds of training; all processes go by the first one's clock."""
        seconds = time.monotonic() - self._began
        if self.rank.count == 1 or self.config.minutes is None:
            return seconds
        from accelerate.utils import broadcast

        shared = torch.tensor(seconds, device=self.accelerator.device)
        return float(broadcast(shared))

    def share_done(self) -> float:
        """How much of the run is over, from 0 to 1."""
        if self.config.minutes is not None:
            return min(1.0, self.progress.seconds / (60.0 * self.config.minutes))
        return min(1.0, self.progress.step / self.config.steps)

    def finished(self) -> bool:
        """Whether the schedule is over, or patience."""
        patience = self.config.patience
        return self.share_done() >= 1.0 or (patience is not None and self.progress.since_best >= patience)

    def joint(self, losses: dict[str, torch.Tensor]) -> dict[str, float]:
        """The losses of the joint batch: every process holds those of its own rows."""
        values = {name: value.detach() for name, value in losses.items()}
        if self.rank.count > 1:
            values = self.accelerator.reduce(values, reduction="mean")
        return {name: float(value) for name, value in values.items()}

    def evaluate(self, *, validate: bool, sample: bool) -> None:
        """Validate and sample with the averaged weights; keep them if they are the best so far."""
        config, average, texts = self.config, self.average.network, self.corpus.validation
        if validate:
            bound = validation_bound(
                average, self.checkpoint, texts, size=config.validate_size, noise=config.noise
            )
            self.tell("validation", {"bound": bound})
            if config.select == "bound":
                self._judge(-bound)
        if sample:
            recovered = free_running(average, self.checkpoint, texts, size=config.sample_size)
            self.tell("sample", recovered._asdict())
            if config.select == "accuracy":
                self._judge(recovered.accuracy)

    def _judge(self, value: float) -> None:
        """Count the validations since the best one; keep the best one's weights."""
        better = self.progress.best is None or value > self.progress.best
        self.progress = self.progress.model_copy(
            update={
                "best": value if better else self.progress.best,
                "since_best": 0 if better else self.progress.since_best + 1,
            }
        )
        if better:
            self.save_model("best")

    def save_model(self, name: str) -> None:
        """The averaged weights as a checkpoint folder."""
        self.averaged().save(self.config.output / name)

    def averaged(self) -> Checkpoint:
        """The model as it would be shipped now."""
        training = {
            "unembed": __version__,
            "step": self.progress.step,
            "seconds": round(self.progress.seconds, 1),
            "samples": self.progress.samples,
            "texts": len(self.corpus.train),
            # A path means nothing elsewhere: what the run began with is known by its digest.
            "config": self.config.lasting() | {"start_from": self._started_from},
            "data": [data.digest for data in self.corpus.folders],
        }
        described = self.checkpoint.config.model_copy(update={"training": training})
        vocabulary, tokenizer = self.checkpoint.vocabulary, self.checkpoint.tokenizer
        return Checkpoint(self.average.network, vocabulary, tokenizer, described)

    def save_state(self) -> None:
        """All that is needed to resume from here."""
        save_state(
            self._states,
            self.progress,
            self.denoiser,
            self.average.network,
            self.optimiser,
            self._identity,
        )
        self.save_model("latest")

    def close(self) -> None:
        """Nothing more will be logged."""
        if self._log is not None:
            self._log.close()


def run_identity(config: TrainConfig, folders: list[PreparedData]) -> dict[str, Any]:
    """What must be the same for a run to be continued: configuration, data and tokenizer."""
    return {
        "config": config.lasting(),
        "data": {str(number): data.digest for number, data in enumerate(folders)},
        "tokenizer": folders[0].manifest.tokenizer.digest,
    }
