"""A real Ray cluster of two nodes on this machine: the same bytes as one process, also when a node is killed.

One test, so that one cluster is started, whatever number of processes runs the tests.
"""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest
import unit_rows as case
from click.testing import CliRunner

import tiny
import toy
from unembed.cli.invert import command as invert
from unembed.cli.prepare import command as prepare
from unembed.data.collect import collect
from unembed.data.config import CollectConfig

pytest.importorskip("ray", reason="needs unembed[ray]")

PARTS = 40
FLAGS = [f"--{name.replace('_', '-')}={value}" for name, value in case.OPTIONS.items()]


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes; both have room for both workers."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # or they starve beside the other tests
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 2, "object_store_memory": 80 * 1024**2}
    made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    made.second = made.add_node(**node)
    yield made
    made.shutdown()


def same_files(one, two):
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(two)) for path in two.rglob("*") if path.is_file())
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    assert len(names) > 3


def kill_when(node, output, parts, killed):
    """SIGKILL for the node's raylet and all its workers, once so many parts are there."""
    while (there := len(list(output.glob("part-*.json")))) < parts:
        time.sleep(0.02)
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    for process in (*raylet.children(recursive=True), raylet):
        process.kill()
    killed.append(there)


@pytest.mark.slow
@pytest.mark.timeout(600)  # it starts a dozen processes; where others work too, that takes its time
def test_two_nodes_do_what_one_process_does(cluster, model, tmp_path):
    on = ["--on", f"ray:{cluster.address}", "--actors", "2"]

    # Shards: by both nodes.
    encoder = tiny.surrogate(tiny.checkpoint(toy.wordpiece(), toy.ToyEncoder().info))
    encoder.save(tmp_path / "encoder")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(toy.sentences(200)) + "\n")
    collect(CollectConfig(source=(f"en={corpus}",)), tmp_path / "texts")
    how = ["encode", str(tmp_path / "texts"), "--encoder", str(tmp_path / "encoder"), "--seq-len", "5"]
    how += ["--shard-size", "40", "--json", "-o"]
    for name, where in (("shards", []), ("shards-two", on)):
        done = CliRunner().invoke(prepare, [*how, str(tmp_path / name), *where], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert '"duplicate"' in (tmp_path / "shards" / "manifest.json").read_text()  # across shards
    same_files(tmp_path / "shards", tmp_path / "shards-two")

    # Texts: as users type it, and one node is killed.
    np.save(tmp_path / "v.npy", case.unit_vectors(PARTS * 32))
    command = ["-e", str(tmp_path / "v.npy"), "-m", model, *FLAGS, "--part-rows", "32", "-o"]
    assert CliRunner().invoke(invert, [*command, str(tmp_path / "one")]).exit_code == 0
    killed: list[int] = []
    killer = threading.Thread(
        target=kill_when, args=(cluster.second, tmp_path / "two", 3, killed), daemon=True
    )
    killer.start()
    ran = subprocess.run(
        [sys.executable, "-m", "unembed", "invert", *command, str(tmp_path / "two"), *on],
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr
    assert killed[0] < PARTS
    assert len(ran.stderr.splitlines()) == 2, ran.stderr  # what was done, and nothing of Ray's
    assert ran.stdout == ""
    same_files(tmp_path / "one", tmp_path / "two")
