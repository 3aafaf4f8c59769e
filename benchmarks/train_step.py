"""How fast a training step is, beside the same step written the naive way, in the same run.

    python benchmarks/train_step.py                        compact and paper
    python benchmarks/train_step.py --preset paper --repetitions 5 --threads 2 --json

A step is forward, backward, clipping, AdamW and the average of the weights. `compact` is the packaged
recipe (the bundled encoder's blocks 0, 2 and 4; vocabulary 16,000; texts of 9 tokens; batch 128), `paper`
the packaged paper model (8 layers, 768 wide, vocabulary 50,257, 32 tokens, batch 16).

The naive way computes logits at every position and projects the condition for every position, in every
block; a second one projects it for every sequence in every block. `naive.py` has both, with the same weights
and the same loss (checked before timing). Another line has our step with the other softmax: over all words
for `compact`, over 3,000 candidates for `paper`. All of them compute in float32; "ours, bf16" is our step as
`--precision bf16` makes it, and the last line says how many times as fast it is.

Every way is a process of its own; they take turns, in an order that alternates, because a busy machine
drifts. What survives that is the median of the repetitions' ratios, by the clock and by processor time.
"Of peak" is the step's matrix arithmetic (counted by torch) per second over what a big torch.mm of the same
precision reaches between the steps.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from naive import Naive, naive_average
from unembed.config_file import read_config_file
from unembed.diffusion.corrupt import corrupt, sample_times
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.fast.candidate_softmax import CandidateDraw
from unembed.training.config import TrainConfig
from unembed.training.corrupted_batch import CorruptedBatch, Group, HeadBatch
from unembed.training.ema import Average
from unembed.training.optimiser import make_optimiser
from unembed.training.process import keep_freed_memory
from unembed.training.training_objective import Objective, make_objective

CONFIGS = Path(__file__).parent.parent / "src" / "unembed" / "configs"
PEAK_SIZE = 1536
BATCH = {"compact": 128, "paper": 16}
OURS, OURS_BF16, NAIVE, NAIVE_SEQUENCE = "ours", "ours, bf16", "naive", "naive, condition a sequence"
OURS_OTHER = "ours, other softmax"  # over all words for compact, over 3,000 candidates for paper


class Preset:
    """One packaged configuration with made-up texts of one length, words as frequent as words are."""

    def __init__(self, name: str) -> None:
        compact = name == "compact"
        file = CONFIGS / ("compact-minilm.yaml" if compact else "paper-qwen3.yaml")
        self.vocabulary, self.length = (16_000, 9) if compact else (50_257, 32)
        self.batch = BATCH[name]
        self.vector_dim = 384 if compact else 1024
        values = read_config_file(file, TrainConfig) | {"batch": self.batch, "data": ["-"], "output": "-"}
        self.config = config = TrainConfig(**values)
        if compact:
            block = BlockConfig(hidden=384, heads=12, ffn=1536, norm="post", norm_eps=1e-12)
        else:
            block = BlockConfig(hidden=config.hidden, heads=config.heads, ffn=config.ffn)
        torch.manual_seed(0)
        self.denoiser = Denoiser(
            DenoiserConfig(
                vector_dim=self.vector_dim,
                vocabulary=self.vocabulary,
                max_length=config.max_length,
                layers=len(config.backbone_layers) or config.layers,
                block=block.model_copy(update={"dropout": config.dropout}),
                length=config.length,
                time_input=config.time_input,
                lexical_hidden=config.lexical_hidden,
                head_transform=config.head_transform,
            )
        )
        self.counts = 1e6 / torch.arange(1, self.vocabulary + 1)  # Zipf's law
        self.objective = Objective(self.denoiser, config)

    def step(self, *, candidates: int) -> CorruptedBatch:
        """The same texts and masks every time."""
        generator = torch.Generator().manual_seed(0)
        size = self.batch // self.config.groups
        groups = [self._group(size, generator) for _ in range(self.config.groups)]
        heads = self._heads(generator) if self.config.head_batch else None
        chosen = None
        if candidates:
            present = [group.x0 for group in groups] + ([] if heads is None else [heads.entries])
            chosen = CandidateDraw(self.counts, candidates, self.config.candidate_power)(
                torch.cat([part.flatten() for part in present]), generator
            )
        return CorruptedBatch(groups, heads, chosen)

    def _texts(self, size: int, generator: torch.Generator) -> torch.Tensor:
        drawn = torch.multinomial(self.counts, size * self.length, replacement=True, generator=generator)
        return drawn.view(size, self.length)

    def _vectors(self, size: int, generator: torch.Generator) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.randn(size, self.vector_dim, generator=generator))

    def _group(self, size: int, generator: torch.Generator) -> Group:
        lengths = torch.full((size,), self.length)
        t = sample_times(size, generator)
        masked, any_masked = corrupt(1 - t, lengths, self.length, generator)
        return Group(
            x0=self._texts(size, generator),
            masked=masked,
            t=t,
            lengths=lengths,
            vectors=self._vectors(size, generator),
            dropped=torch.zeros(size, dtype=torch.bool),
            scale=any_masked / t / self.length / self.batch,
            share=torch.full((size,), 1 / self.batch),
        )

    def _heads(self, generator: torch.Generator) -> HeadBatch:
        size = self.config.head_batch
        return HeadBatch(
            vectors=self._vectors(size, generator),
            lengths=torch.full((size,), self.length),
            entries=self._texts(size, generator),
            real=torch.ones(size, self.length, dtype=torch.bool),
            share=torch.full((size,), 1 / size),
        )


def make_update(preset: Preset, way: str) -> Callable[[], None]:
    """One whole update, the way that `way` says."""
    denoiser, objective, config = preset.denoiser, preset.objective, preset.config
    parameters = list(denoiser.parameters())
    average = Average(denoiser, config.ema)
    if way.startswith("naive"):
        naive = Naive(objective, per_position=way == NAIVE)
        step = preset.step(candidates=0)
        check(objective, step, naive)
        optimiser = torch.optim.AdamW(parameters, lr=1e-4)

        def naive_update() -> None:
            naive(step).backward()
            torch.nn.utils.clip_grad_norm_(parameters, config.clip)
            optimiser.step()
            optimiser.zero_grad()
            naive_average(average._mine, parameters, config.ema)

        return naive_update

    candidates = config.candidates if way != OURS_OTHER else (0 if config.candidates else 3000)
    our_step, ours = preset.step(candidates=candidates), make_optimiser(denoiser, config)
    minimised = make_objective(denoiser, config, "bf16" if way == OURS_BF16 else "fp32")
    keep_freed_memory()  # as `train` does

    def our_update() -> None:
        minimised(our_step)["loss"].backward()
        torch.nn.utils.clip_grad_norm_(parameters, config.clip)
        ours.step()
        ours.zero_grad(set_to_none=True)
        average.update(denoiser, 10**6)

    return our_update


@torch.no_grad()
def check(objective: Objective, step: CorruptedBatch, other: Naive) -> None:
    """What is compared must compute the same."""
    objective.denoiser.eval()
    torch.testing.assert_close(other(step), objective(step)["loss"], rtol=1e-4, atol=1e-5)
    objective.denoiser.train()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of this process's processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def work(name: str, way: str, threads: int) -> None:
    """A process of its own for each way: on "go", it makes a step and prints how long it took."""
    torch.set_num_threads(threads)
    update = make_update(Preset(name), way)
    with FlopCounterMode(display=False) as counter:  # also the warm-up
        update()
    update()
    square = torch.randn(PEAK_SIZE, PEAK_SIZE, dtype=torch.bfloat16 if way == OURS_BF16 else torch.float32)
    print(json.dumps(counter.get_total_flops()), flush=True)
    for _ in sys.stdin:
        peak, _ = timed(lambda: square @ square)
        print(json.dumps((*timed(update), peak)), flush=True)


class Worker:
    """The other end of `work`."""

    def __init__(self, name: str, way: str, threads: int) -> None:
        command = [sys.executable, __file__, "--work", name, way, str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.flops = self._read()
        self.seen: list[tuple[float, float, float]] = []  # clock, processor, the peak's clock

    def go(self) -> None:
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        self.seen.append(self._read())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker ended; its message is above")
        return json.loads(line)

    def median(self, kind: int) -> float:
        return statistics.median(seconds[kind] for seconds in self.seen)


def measure(name: str, repetitions: int, threads: int) -> dict[str, Any]:
    ways = (OURS, OURS_BF16, NAIVE, NAIVE_SEQUENCE, OURS_OTHER)
    workers = {way: Worker(name, way, threads) for way in ways}
    for repetition in range(repetitions):
        for worker in list(workers.values())[:: 1 if repetition % 2 == 0 else -1]:
            worker.go()
    ours = workers[OURS]
    peak = peak_of(worker for way, worker in workers.items() if way != OURS_BF16)
    peak_bf16 = peak_of([workers[OURS_BF16]])
    rows = {}
    for way, worker in workers.items():
        worker.close()
        pairs = list(zip(worker.seen, ours.seen, strict=True))
        rows[way] = {
            "samples_per_second": BATCH[name] / worker.median(0),
            "gigaflop": worker.flops / 1e9,
            "share_of_peak": worker.flops / worker.median(0) / (peak_bf16 if way == OURS_BF16 else peak),
            "ours_is_faster_clock": statistics.median(theirs[0] / mine[0] for theirs, mine in pairs),
            "ours_is_faster_processor": statistics.median(theirs[1] / mine[1] for theirs, mine in pairs),
        }
    pairs = list(zip(ours.seen, workers[OURS_BF16].seen, strict=True))
    return {
        "preset": name,
        "repetitions": repetitions,
        "peak_gigaflops": peak / 1e9,
        "peak_gigaflops_bf16": peak_bf16 / 1e9,
        "ways": rows,
        "bf16_is_faster_clock": statistics.median(single[0] / half[0] for single, half in pairs),
        "bf16_is_faster_processor": statistics.median(single[1] / half[1] for single, half in pairs),
    }


def peak_of(workers: Iterable[Worker]) -> float:
    """What a big product of these workers' precision reached: operations a second."""
    return 2 * PEAK_SIZE**3 / statistics.median(seen[2] for worker in workers for seen in worker.seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", choices=["compact", "paper"], action="append")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work[0], arguments.work[1], int(arguments.work[2]))
        return
    presets = arguments.preset or ["compact", "paper"]
    results = [measure(name, arguments.repetitions, arguments.threads) for name in presets]
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "cores": os.cpu_count(), "results": results}))
        return
    for result in results:
        print(
            f"\n{result['preset']}: {result['repetitions']} repetitions, {arguments.threads} threads, ",
            end="",
        )
        print(f"matrix peak {result['peak_gigaflops']:.0f} Gflop/s, ", end="")
        print(f"in bf16 {result['peak_gigaflops_bf16']:.0f}")
        print(f"{'':30}{'samples/s':>10}{'Gflop':>8}{'of peak':>9}{'x ours (clock)':>16}{'(processor)':>13}")
        for way, row in result["ways"].items():
            print(
                f"{way:30}{row['samples_per_second']:10.1f}{row['gigaflop']:8.0f}{row['share_of_peak']:9.0%}"
                f"{row['ours_is_faster_clock']:16.2f}{row['ours_is_faster_processor']:13.2f}"
            )
        print(
            f"bf16 is {result['bf16_is_faster_clock']:.2f} times as fast as float32 by the clock, "
            f"{result['bf16_is_faster_processor']:.2f} by processor time"
        )


if __name__ == "__main__":
    main()
