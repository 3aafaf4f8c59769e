"""What Ray costs beside the plain loop on as many cores, and what a second actor gains.

    python benchmarks/ray_overhead.py --work DIR [--parts 44] [--rounds 4]

Overhead: a process that inverts parts in a plain loop and Ray with one actor run at the same time, so that
what else the machine does meets both. Counted is from the fifth finished part on (starting Ray and loading
models is printed apart) to the last, and of the loop what it did in that time. "processor" is the processor
seconds of a part: of the loop's process, or of this one and everything that Ray started, raylet and all.
"clock" is parts a second by the clock, beside the loop's. Growth: Ray with one actor, then with two, nothing
beside it; it wants an idle machine of two cores. Medians and ranges over rounds. The model is tiny and random
(ray_cluster.py makes it): a real one computes longer per part, and Ray's share is smaller.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
import torch

from ray_cluster import FAST, make_model
from unembed.cluster.cluster_config import ClusterConfig
from unembed.cluster.invert_dataset import DatasetInversion
from unembed.cluster.invert_worker import InvertWorker
from unembed.cluster.ray_session import ray_session
from unembed.cluster.run_jobs import Job, run_jobs
from unembed.invert_config import InvertConfig

WARM = 4  # answers until all actors have loaded their model
Mark = tuple[float, float]  # the clock, processor seconds so far


def processor_seconds(without: int) -> float:
    """Of this process and all below it, apart from the loop's."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += 0.0 if process.pid == without else times.user + times.system
    return total


def opened(options: argparse.Namespace) -> tuple[DatasetInversion, list[Job]]:
    """The run, and its parts as jobs that are timed and not written."""
    values = {FAST[at].lstrip("-").replace("-", "_"): int(FAST[at + 1]) for at in range(0, len(FAST), 2)}
    run = DatasetInversion(
        str(options.work / "vectors.npy"), None, InvertConfig(**values), ClusterConfig(),
        model=str(options.work / "model"), part_rows=options.part_rows,
    )  # fmt: skip
    return run, [{**job, "number": None} for job in run.jobs()[: options.parts]]


def loop_for_ever(options: argparse.Namespace) -> None:
    """The plain loop: a mark after every part, until somebody ends it."""
    torch.set_num_threads(1)
    run, jobs = opened(options)
    while True:
        for _ in run_jobs(InvertWorker, run.settings, jobs, ClusterConfig()):
            print(json.dumps([time.time(), time.process_time()]), flush=True)


def on_ray(options: argparse.Namespace, actors: int, without: int = 0) -> tuple[float, list[Mark]]:
    """When it began, and a mark after every part."""
    run, jobs = opened(options)
    began = time.time()
    parts = run_jobs(InvertWorker, run.settings, jobs, ClusterConfig(on="ray", actors=actors))
    return began, [(time.time(), processor_seconds(without)) for _ in parts]


def pace(options: argparse.Namespace, actors: int) -> float:
    """Parts a second of so many actors, with nothing beside them."""
    marks = on_ray(options, actors)[1]
    return rates([marks[WARM], marks[-1]], len(marks) - 1 - WARM)[0]


def side_by_side(options: argparse.Namespace) -> dict[str, float]:
    """Ray with one actor, and the loop beside it."""
    log = options.work / "loop.jsonl"
    with log.open("wb") as file:
        loop = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--loop"], stdout=file)
    try:
        while not log.stat().st_size:
            time.sleep(0.2)
        began, marks = on_ray(options, 1, loop.pid)
    finally:
        loop.kill()
        loop.wait()
    lines = log.read_text().splitlines()
    beside = [json.loads(line) for line in lines if line.endswith("]")]
    inside = [mark for mark in beside if marks[WARM][0] <= mark[0] <= marks[-1][0]]
    ray, plain = rates([marks[WARM], marks[-1]], len(marks) - 1 - WARM), rates(inside, len(inside) - 1)
    return {
        "first": marks[0][0] - began,
        "loop_processor": plain[1],
        "processor": ray[1] / plain[1],
        "clock": ray[0] / plain[0],
        "loop_parts": len(inside) - 1,
    }


def rates(marks: list[Mark], parts: int) -> tuple[float, float]:
    """Parts a second, and processor seconds a part."""
    return parts / (marks[-1][0] - marks[0][0]), (marks[-1][1] - marks[0][1]) / parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--parts", type=int, default=44)
    parser.add_argument("--part-rows", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--loop", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.work / "vectors.npy").exists():
        make_model(options.work, options.parts * options.part_rows)
    if options.loop:
        loop_for_ever(options)
    rounds: list[dict[str, float]] = []
    with ray_session(ClusterConfig(on="ray", actors=2)):
        for number in range(options.rounds):
            # The order turns round, so that none is always the first.
            paces = {actors: pace(options, actors) for actors in ((1, 2), (2, 1))[number % 2]}
            rounds.append({**side_by_side(options), "growth": paces[2] / paces[1]})
            print(json.dumps({"round": number, **rounds[-1]}), flush=True)

    def over_rounds(measure: str) -> dict[str, float]:
        values = sorted(one[measure] for one in rounds)
        found = {"median": statistics.median(values), "least": values[0], "most": values[-1]}
        return {name: round(value, 3) for name, value in found.items()}

    summary = {
        "parts": options.parts,
        "part_rows": options.part_rows,
        "rounds": options.rounds,
        "loop_seconds_a_part": over_rounds("loop_processor"),
        "actor_over_loop_processor": over_rounds("processor"),
        "actor_over_loop_clock": over_rounds("clock"),
        "two_actors_over_one_clock": over_rounds("growth"),
        "seconds_to_first_part": over_rounds("first"),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
