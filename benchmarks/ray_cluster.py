"""Two Ray nodes on this machine against one process: the same bytes, also when a node is killed with SIGKILL.

    python benchmarks/ray_cluster.py invert --rows 200000 --work DIR
    python benchmarks/ray_cluster.py encode --rows 200000 --corpus corpus.txt.gz --encoder potion --work DIR

Runs the command line as users do, at the same time in one process and on two nodes, one of which is killed
(raylet and workers) when a quarter of the output is there. Then every file is compared. Stages that are
done are not repeated, so that a run can be split. The model of `invert` is tiny and random: its texts are
nonsense, its arithmetic is real.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

DIMENSION = 64
SETTLE = 8
FAST = ["--steps", "1", "--num-lengths", "1", "--hypotheses", "1", "--batch-size", "256"]


def make_model(folder: Path, rows: int) -> None:
    """Random unit vectors, and a small model that reads them."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import tiny
    import toy

    folder.mkdir(parents=True, exist_ok=True)
    vectors = np.random.default_rng(0).normal(size=(rows, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    encoder = toy.ToyEncoder(dimension=DIMENSION, tokenizer=toy.wordpiece())
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=vectors[:1000])
    tiny.save(model, folder / "model")
    np.save(folder / "vectors.npy", vectors)


def run(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "unembed", *arguments], stdout=subprocess.DEVNULL)


def with_a_killed_node(arguments: list[str], output: Path, pattern: str, at: int) -> dict[str, float]:
    """The same on two nodes of one core each; the second is killed when `at` files match the pattern."""
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    import psutil
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 128 * 1024**2}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    began = time.perf_counter()
    try:
        process = run([*arguments, "--on", f"ray:{cluster.address}"])
        killed = {}
        while process.poll() is None:
            time.sleep(0.5)
            there = len(list(output.glob(pattern)))
            if not killed and there >= at:
                raylet = psutil.Process(second.all_processes["raylet"][0].process.pid)
                victims = [*raylet.children(recursive=True), raylet]
                for victim in victims:
                    victim.kill()
                killed = {"killed_after_files": there, "killed_processes": len(victims)}
        if process.returncode:
            raise SystemExit(f"the command failed with {process.returncode}")
        return {**killed, "seconds": round(time.perf_counter() - began, 1)}
    finally:
        cluster.shutdown()


def digests(folder: Path, pattern: str) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(folder.glob(pattern))}


def stage(path: Path, work: object) -> dict[str, object]:
    """What a stage measured; done once."""
    if not path.exists():
        path.write_text(json.dumps(work()))  # type: ignore[operator]
    found: dict[str, object] = json.loads(path.read_text())
    return found


def alone(arguments: list[str]) -> dict[str, float]:
    began = time.perf_counter()
    if run(arguments).wait():
        raise SystemExit("the command failed")
    return {"seconds": round(time.perf_counter() - began, 1)}


def compare(kind: str, one: Path, two: Path, pattern: str, figures: dict[str, object]) -> None:
    first, second = digests(one, pattern), digests(two, pattern)
    same = first == second
    print(json.dumps({"stage": kind, "files": len(first), "identical": same, **figures}), flush=True)
    if not same or not first:
        raise SystemExit("the outputs differ")


def rows_once(folder: Path, rows: int) -> None:
    """Every index once, in order."""
    import pyarrow.parquet as parquet

    index = np.concatenate(
        [
            parquet.read_table(one, columns=["index"])["index"].to_numpy()
            for one in sorted(folder.glob("*.parquet"))
        ]
    )
    assert (index == np.arange(rows)).all(), "a row is missing, twice or out of order"


def beside_the_loop(one: Path, two: Path, killed: int) -> dict[str, float]:
    """Ray's parts a second over those of the loop that ran beside it: two actors until the kill, then one.

    By the times at which the records were written; `SETTLE` parts after the kill are left out.
    """
    loop, ray = (sorted(file.stat().st_mtime for file in at.glob("part-*.json")) for at in (one, two))
    end = min(loop[-1], ray[-1])
    found = {}
    for name, first, last in (("two_actors", ray[0], ray[killed]), ("one_actor", ray[killed + SETTLE], end)):
        inside = [[time for time in times if first <= time <= last] for times in (ray, loop)]
        paces = [(len(times) - 1) / (times[-1] - times[0]) for times in inside]
        found |= {f"{name}_over_loop": round(paces[0] / paces[1], 3), f"{name}_parts": len(inside[0]) - 1}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["invert", "encode"])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--encoder", default="potion")
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    if options.what == "invert":
        if not (work / "vectors.npy").exists():
            make_model(work, options.rows)
        command = ["invert", "-e", str(work / "vectors.npy"), "-m", str(work / "model"), *FAST, "-o"]
        pattern, outputs = "part-*", [work / "one", work / "two"]
    else:
        if not (work / "texts" / "manifest.json").exists():
            source = ["--source", f"en={options.corpus}", "--limit", str(options.rows)]
            alone(["prepare", "collect", *source, "-o", str(work / "texts")])
        command = [
            "prepare",
            "encode",
            str(work / "texts"),
            "--encoder",
            options.encoder,
            "--seq-len",
            "32",
            "-o",
        ]
        pattern, outputs = "shards/*", [work / "one", work / "two"]
    quarter = max(1, options.rows // (4 * (4096 if options.what == "invert" else 8192)))
    ready = "part-*.json" if options.what == "invert" else "shards/*.json"
    with ThreadPoolExecutor(1) as pool:  # at the same time: what is compared is bytes, not seconds
        alone_stage = pool.submit(stage, work / "one.json", lambda: alone([*command, str(outputs[0])]))
        second = stage(
            work / "two.json",
            lambda: with_a_killed_node([*command, str(outputs[1])], outputs[1], ready, quarter),
        )
        first = alone_stage.result()
    beside = {}
    if options.what == "invert":
        rows_once(outputs[1], options.rows)
        beside = beside_the_loop(*outputs, int(str(second["killed_after_files"])))
    compare(
        options.what,
        *outputs,
        pattern,
        {"rows": options.rows, "one_process": first, "two_nodes": second} | beside,
    )


if __name__ == "__main__":
    main()
