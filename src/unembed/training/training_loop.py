"""The training loop, to be read from top to bottom.

A step is a pure function of the seed, the step's number and the weights. A run that was killed and
resumed therefore ends with the same weights as one that was never interrupted.
"""

from __future__ import annotations

import math
import threading
from contextlib import nullcontext
from typing import NamedTuple

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from torch import Tensor

from unembed.compute.memory import keep_freed_memory
from unembed.diffusion.schedule import schedule_named
from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint
from unembed.model.wiener import WienerFilter
from unembed.storage import folder_lock
from unembed.training.batch_sampler import BatchSampler
from unembed.training.config import TrainConfig
from unembed.training.corrupted_batch import BatchMaker, mix_seed
from unembed.training.largest_batch import largest_batch
from unembed.training.optimiser import rate_factor, set_rate
from unembed.training.process import stop_requests
from unembed.training.training_precision import choose_training_precision
from unembed.training.training_run import TrainingRun, Watcher

# After this many gradients in a row that are not finite, the weights are to blame and not a batch.
MOST_SKIPPED = 10


def train(config: TrainConfig, watch: Watcher = lambda kind, progress, figures: None) -> Checkpoint:
    """Train from `config.data` into `config.output`, or resume an earlier run.

    Returns the averaged model. Under `accelerate launch` every process calls this.
    """
    accelerator = make_accelerator(config)
    if accelerator.device.type == "cpu":
        keep_freed_memory()
    with folder_lock(config.output) if accelerator.is_main_process else nullcontext():
        run = TrainingRun(config, accelerator, watch)
        try:
            if not run.ended:
                with stop_requests() as stop_requested:
                    learn(run, stop_requested)
        finally:
            run.close()
        return run.averaged()


def learn(run: TrainingRun, stop_requested: threading.Event) -> None:
    """Step after step until the schedule ends, patience runs out, or the user stops it."""
    config = run.config
    run.denoiser.train()
    make_batch = BatchMaker(
        run.corpus.train,
        run.checkpoint.vocabulary,
        schedule_named(config.noise),
        config,
        run.counts,
        WienerFilter.of(run.denoiser.standardise) if config.vector_noise else None,
    )
    sampler = _sampler(run, make_batch)
    objective, _ = run.accelerator.prepare(run.objective(), run.optimiser)

    skipped = 0  # updates in a row whose gradient was not finite
    stopping = _all_stop(run, run.finished())
    while not stopping:
        update = _update(run, objective, make_batch, sampler)
        run.count(update.samples)
        skipped = 0 if update.usable else skipped + 1
        _report(run, update, skipped)
        if run.main:
            _evaluate_and_save(run)
        stopping = _all_stop(run, stop_requested.is_set() or run.finished())
    _finish(run, stopped=stop_requested.is_set())


def _sampler(run: TrainingRun, make_batch: BatchMaker) -> BatchSampler:
    """Which texts each step learns from; the batch is the configured one, or the largest that fits."""
    config = run.config
    if config.find_batch and run.progress.batch is None:
        run.progress = run.progress.model_copy(update={"batch": largest_batch(run, make_batch)})
    batch = run.progress.batch or config.batch
    parameters = sum(parameter.numel() for parameter in run.denoiser.parameters())
    start = {"texts": len(run.corpus.train), "parameters": parameters, "batch": batch}
    run.tell("start", start | {"precision": run.precision})
    return BatchSampler(
        run.corpus.train.lengths,
        batch=batch,
        groups=config.groups,
        seed=config.seed,
        mixed=run.checkpoint.vocabulary.fixed_length,
        repeats=run.corpus.train.repeats(config.source_alpha),
    )


class Update(NamedTuple):
    """What one update of the weights was made of."""

    losses: dict[str, Tensor]  # of the last batch
    norm: float  # of the gradient
    samples: int

    @property
    def usable(self) -> bool:
        """Whether the gradient was finite; if not, the update was skipped."""
        return math.isfinite(self.norm)


def _update(
    run: TrainingRun, objective: torch.nn.Module, make_batch: BatchMaker, sampler: BatchSampler
) -> Update:
    """Forward, backward, clip, step, average."""
    config, step = run.config, run.progress.step
    set_rate(run.optimiser, config, rate_factor(config, step, run.share_done()))
    # Dropout draws from the global generator: seeded here, a step does not depend on the past.
    torch.manual_seed(mix_seed(config.seed, step, run.rank.index))
    losses: dict[str, Tensor] = {}
    samples = 0
    for part in range(config.accumulate):
        number = step * config.accumulate + part
        chosen = sampler[number]
        samples += sum(map(len, chosen))
        batch = make_batch(number, chosen, run.rank).to(run.accelerator.device)
        last = part == config.accumulate - 1
        with nullcontext() if last else run.accelerator.no_sync(objective):
            losses = objective(batch)
            run.accelerator.backward(losses["loss"] / config.accumulate)
    norm = run.accelerator.clip_grad_norm_(objective.parameters(), config.clip)
    update = Update(losses, float(norm), samples)
    if update.usable:  # one gradient that is not a number would make every weight NaN, for ever
        run.optimiser.step()
        run.average.update(run.denoiser, step)
    run.optimiser.zero_grad(set_to_none=True)
    return update


def _report(run: TrainingRun, update: Update, skipped: int) -> None:
    """Log the losses when it is time, and every update that was skipped."""
    step = run.progress.step
    if not update.usable:
        figures = run.joint(update.losses)
        _refuse_nonsense(figures, step, skipped)
        run.tell("skipped", {k: v if math.isfinite(v) else None for k, v in figures.items()})
    elif step % run.config.log_every == 0 or step == 1:
        rate, samples = run.optimiser.param_groups[0]["lr"], run.progress.samples
        run.tell("train", {**run.joint(update.losses), "norm": update.norm, "rate": rate, "samples": samples})


def _evaluate_and_save(run: TrainingRun) -> None:
    """What is due after this step."""
    config, step = run.config, run.progress.step
    run.evaluate(validate=step % config.validate_every == 0, sample=step % config.sample_every == 0)
    if step in config.milestones:
        run.save_model(f"milestones/step-{step:08d}")
    if step % config.save_every == 0:
        run.save_state()


def _finish(run: TrainingRun, *, stopped: bool) -> None:
    """Evaluate what the last step left undone, save, and say how the run ended."""
    config, step = run.config, run.progress.step
    if run.main:
        if not stopped:
            run.evaluate(validate=step % config.validate_every > 0, sample=step % config.sample_every > 0)
        run.save_state()
        run.tell("stopped" if stopped else "end", {"samples": run.progress.samples})
    run.accelerator.wait_for_everyone()
    if stopped:
        raise KeyboardInterrupt


def make_accelerator(config: TrainConfig) -> Accelerator:
    """Accelerate decides on devices and processes, and casts on a GPU; on the CPU `Bf16Layers` does that."""
    on_cpu = config.device == "cpu"
    gpu = None if on_cpu else torch.accelerator.current_accelerator(check_available=True)
    casts = gpu is not None and choose_training_precision(config.precision, gpu) == "bf16"
    # The guidance's null vector takes part only when a sample was dropped.
    lenient = DistributedDataParallelKwargs(find_unused_parameters=True)
    return Accelerator(cpu=on_cpu, mixed_precision="bf16" if casts else "no", kwargs_handlers=[lenient])


def _all_stop(run: TrainingRun, stop: bool) -> bool:
    """Stop all processes as soon as one of them is to stop: the others would wait for it for ever."""
    if run.rank.count == 1:
        return stop
    if stop:
        run.accelerator.set_trigger()
    return bool(run.accelerator.check_trigger())


def _refuse_nonsense(figures: dict[str, float], step: int, skipped: int) -> None:
    if skipped == MOST_SKIPPED:
        raise DataError(
            f"The gradient was not finite {skipped} times in a row, last at step {step}: {figures}.",
            hint="Start again in another folder with a lower --learning-rate or a longer --warmup.",
        )
