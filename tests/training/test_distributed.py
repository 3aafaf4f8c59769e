"""Two processes (gloo, on the CPU) do what one would do with the joint batch."""

import os
import socket
import subprocess
import sys
from contextlib import suppress

import one_of_two
import pytest
import torch
from safetensors.torch import load_file

from unembed.training.log import read_log


def free_port():
    """Not one that the system hands out: by the time the processes listen, others may have it."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def train_in_two(config, gradients):
    """Train in two processes; the first one writes the averaged gradients of the first update."""
    file = gradients.with_suffix(".json")
    file.write_text(config.model_dump_json())
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    shared |= {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    command = [sys.executable, one_of_two.__file__, file, gradients]
    running = []
    for rank in ("0", "1"):
        environment = {**os.environ, **shared, "RANK": rank, "LOCAL_RANK": rank}
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "change",
    [
        # Groups of unequal size, some of one sample: one process has nothing to do there.
        {"batch": 14, "groups": 5, "head_batch": 0, "weighting": "bound", "limit": 60},
        {"batch": 15, "groups": 3, "head_batch": 7, "weighting": "token", "accumulate": 2},
        {"batch": 15, "groups": 3, "head_batch": 7, "weighting": "token", "precision": "bf16"},
    ],
    ids=["bound", "token", "bf16"],
)
def test_averaged_gradients_are_those_of_the_joint_batch(toy_config, tmp_path, change):
    config = toy_config.model_copy(
        update={"dropout": 0.0, "steps": 3, "validate_size": 8, "sample_size": 4, "limit": 300} | change
    )
    outputs = [tmp_path / "alone", tmp_path / "together"]
    files = [tmp_path / "alone.safetensors", tmp_path / "together.safetensors"]
    for train, output, gradients in zip((one_of_two.train, train_in_two), outputs, files, strict=True):
        train(config.model_copy(update={"output": output}), gradients)
    alone, together = map(load_file, files)
    assert alone.keys() == together.keys()
    for name, gradient in alone.items():
        if config.precision == "fp32":
            torch.testing.assert_close(together[name], gradient, atol=1e-6, rtol=1e-4, msg=name)
        else:  # rounded before they are averaged, as each process sees other rows
            assert (together[name] - gradient).norm() < 0.02 * gradient.norm() + 1e-6, name
    assert any(gradient.abs().max() > 1e-3 for gradient in alone.values())
    losses = [[line["loss"] for line in log if line["kind"] == "train"] for log in map(read_log, outputs)]
    assert len(losses[0]) == 3
    assert losses[1] == pytest.approx(losses[0], rel=1e-4 if config.precision == "fp32" else 1e-2)
