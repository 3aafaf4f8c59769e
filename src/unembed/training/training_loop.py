"""The training loop, to be read from top to bottom.

A step is a pure function of the seed, the step's number and the weights. A run that was killed and
resumed therefore goes on exactly as if nothing had happened.
"""

from __future__ import annotations

import math
import threading
from contextlib import nullcontext

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs

from unembed.diffusion.schedule import schedule_named
from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint
from unembed.storage import folder_lock
from unembed.training.batch_sampler import BatchSampler
from unembed.training.config import TrainConfig
from unembed.training.corrupted_batch import BatchMaker, mix_seed
from unembed.training.largest_batch import largest_batch
from unembed.training.objective import Objective
from unembed.training.optimiser import rate_factor, set_rate
from unembed.training.process import keep_freed_memory, stop_requests
from unembed.training.training_run import TrainingRun, Watcher

# So many steps in a row with a gradient that is not finite, and the weights are to blame, not a batch.
MOST_IN_VAIN = 10


def train(config: TrainConfig, watch: Watcher = lambda kind, progress, figures: None) -> Checkpoint:
    """Train from `config.data` into `config.output`, or go on where an earlier run stopped.

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
    """Step after step until the end of the schedule, of patience, or of the user's."""
    config, rank, denoiser = run.config, run.rank, run.denoiser
    make_batch = BatchMaker(
        run.corpus.train, run.checkpoint.vocabulary, schedule_named(config.noise), config, run.counts
    )
    denoiser.train()
    if config.find_batch and run.progress.batch is None:
        run.progress = run.progress.model_copy(update={"batch": largest_batch(run, make_batch)})
    batch = run.progress.batch or config.batch
    sampler = BatchSampler(
        run.corpus.train.lengths,
        batch=batch,
        groups=config.groups,
        seed=config.seed,
        mixed=run.checkpoint.vocabulary.fixed_length,
    )
    objective, _ = run.accelerator.prepare(Objective(denoiser, config), run.optimiser)
    run.tell("start", {"texts": len(run.corpus.train), "parameters": _size(denoiser), "batch": batch})

    in_vain = 0  # steps in a row whose gradient was of no use
    stopping = _all_stop(run, run.finished())
    while not stopping:
        step = run.progress.step
        set_rate(run.optimiser, config, rate_factor(config, step, run.share_done()))
        # Dropout draws from the global generator: seeded here, a step does not depend on the past.
        torch.manual_seed(mix_seed(config.seed, step, rank.index))
        losses: dict[str, torch.Tensor] = {}
        samples = 0
        for part in range(config.accumulate):
            number = step * config.accumulate + part
            chosen = sampler[number]
            samples += sum(map(len, chosen))
            data = make_batch(number, chosen, rank).to(run.accelerator.device)
            last = part == config.accumulate - 1
            with nullcontext() if last else run.accelerator.no_sync(objective):
                losses = objective(data)
                run.accelerator.backward(losses["loss"] / config.accumulate)
        norm = run.accelerator.clip_grad_norm_(objective.parameters(), config.clip)
        # One gradient that is no number would make every weight none, for ever.
        usable = math.isfinite(norm)
        if usable:
            run.optimiser.step()
            run.average.update(denoiser, step)
        run.optimiser.zero_grad(set_to_none=True)
        run.count(samples)

        step = run.progress.step
        in_vain = 0 if usable else in_vain + 1
        if not usable:
            figures = run.joint(losses)
            _refuse_nonsense(figures, step, in_vain)
            run.tell("skipped", {k: v if math.isfinite(v) else None for k, v in figures.items()})
        elif step % config.log_every == 0 or step == 1:
            figures = run.joint(losses)
            rate = run.optimiser.param_groups[0]["lr"]
            run.tell("train", {**figures, "norm": float(norm), "rate": rate, "samples": run.progress.samples})
        if run.main:
            run.evaluate(validate=step % config.validate_every == 0, sample=step % config.sample_every == 0)
        if run.main and step in config.milestones:
            run.save_model(f"milestones/step-{step:08d}")
        if run.main and step % config.save_every == 0:
            run.save_state()
        stopping = _all_stop(run, stop_requested.is_set() or run.finished())

    step = run.progress.step
    if run.main:
        if not stop_requested.is_set():
            run.evaluate(validate=step % config.validate_every > 0, sample=step % config.sample_every > 0)
        run.save_state()
        run.tell("stopped" if stop_requested.is_set() else "end", {"samples": run.progress.samples})
    run.accelerator.wait_for_everyone()
    if stop_requested.is_set():
        raise KeyboardInterrupt


def make_accelerator(config: TrainConfig) -> Accelerator:
    """Accelerate decides on devices and processes; bf16 where asked, or where the device has it."""
    on_cpu = config.device == "cpu"
    precision = "no"
    if config.precision == "bf16":
        precision = "bf16"
    elif config.precision == "auto" and not on_cpu and torch.cuda.is_available():
        precision = "bf16" if torch.cuda.is_bf16_supported() else "no"
    # The guidance's null vector takes part only when a sample was dropped.
    lenient = DistributedDataParallelKwargs(find_unused_parameters=True)
    return Accelerator(cpu=on_cpu, mixed_precision=precision, kwargs_handlers=[lenient])


def _all_stop(run: TrainingRun, wish: bool) -> bool:
    """One process's wish to stop is everybody's, or they would wait for each other for ever."""
    if run.rank.count == 1:
        return wish
    if wish:
        run.accelerator.set_trigger()
    return bool(run.accelerator.check_trigger())


def _refuse_nonsense(figures: dict[str, float], step: int, in_vain: int) -> None:
    if in_vain == MOST_IN_VAIN:
        raise DataError(
            f"The gradient was not finite {in_vain} times in a row, last at step {step}: {figures}.",
            hint="Start again in another folder with a lower --learning-rate or a longer --warmup.",
        )


def _size(denoiser: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in denoiser.parameters())
