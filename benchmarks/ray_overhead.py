"""What Ray costs beside the plain loop on as many cores, and what a second actor gains.

    python benchmarks/ray_overhead.py --work DIR [--parts 20] [--rounds 3]

Every round inverts the same parts three times: in a loop in this process, by one actor, by two. Counted is
from the fifth finished part to the last, so that starting Ray and loading models is not in it (it is
printed apart). Two measures: seconds by the clock, which other work on the machine disturbs, and processor
seconds of this process and everything that Ray started. Figures are medians over rounds; ratios are taken
within a round. The model is tiny and random (ray_cluster.py makes it): a real one computes longer per part,
and Ray's share is smaller.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import psutil

from ray_cluster import FAST, make_model
from unembed.cluster.cluster_config import ClusterConfig
from unembed.cluster.invert_dataset import DatasetInversion
from unembed.cluster.invert_worker import InvertWorker
from unembed.cluster.ray_session import ray_session
from unembed.cluster.run_jobs import run_jobs
from unembed.invert_config import InvertConfig

WARM = 4  # answers until all actors have loaded their model


def processor_seconds() -> float:
    """Of this process and all below it, those that ended since included only while they run."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def timed(run: DatasetInversion, parts: int, cluster: ClusterConfig) -> dict[str, float]:
    """Seconds a part, from the first answer to the last; and seconds until the first."""
    jobs = [{**job, "number": None} for job in run.jobs()[:parts]]
    began = time.perf_counter()
    marks = []  # at every answer: the actors are gone after the last
    for _ in run_jobs(InvertWorker, run.settings, jobs, cluster):
        marks.append((time.perf_counter(), processor_seconds()))
    (first, before), (last, after) = marks[WARM], marks[-1]
    count = len(marks) - 1 - WARM
    return {
        "first": marks[0][0] - began,
        "clock": (last - first) / count,
        "processor": (after - before) / count,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--parts", type=int, default=20)
    parser.add_argument("--part-rows", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not (options.work / "vectors.npy").exists():
        make_model(options.work, options.parts * options.part_rows)
    values = {FAST[at].lstrip("-").replace("-", "_"): int(FAST[at + 1]) for at in range(0, len(FAST), 2)}
    run = DatasetInversion(
        str(options.work / "vectors.npy"), None, InvertConfig(**values), ClusterConfig(),
        model=str(options.work / "model"), part_rows=options.part_rows,
    )  # fmt: skip
    import torch

    torch.set_num_threads(1)
    kinds = {
        "loop": ClusterConfig(),
        "one": ClusterConfig(on="ray", actors=1),
        "two": ClusterConfig(on="ray", actors=2),
    }
    rounds = []
    with ray_session(kinds["two"]):
        for number in range(options.rounds):
            # The order turns round, so that none is always the first.
            order = [*kinds] if number % 2 == 0 else [*reversed(kinds)]
            found = {kind: timed(run, options.parts, kinds[kind]) for kind in order}
            rounds.append(found)
            print(json.dumps({"round": number, **found}), flush=True)

    def ratio(measure: str, over: str, under: str) -> float:
        return round(statistics.median(one[over][measure] / one[under][measure] for one in rounds), 3)

    summary = {
        "parts": options.parts,
        "part_rows": options.part_rows,
        "rounds": options.rounds,
        "loop_rows_per_processor_second": round(
            options.part_rows / statistics.median(one["loop"]["processor"] for one in rounds), 1
        ),
        "one_actor_over_loop_processor": ratio("processor", "one", "loop"),
        "one_actor_over_loop_clock": ratio("clock", "one", "loop"),
        "two_actors_over_one_processor": ratio("processor", "two", "one"),
        "speedup_two_actors_clock": ratio("clock", "one", "two"),
        "seconds_to_first_part_one_actor": round(statistics.median(one["one"]["first"] for one in rounds), 1),
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
