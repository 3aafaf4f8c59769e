"""Two processes (gloo, on the CPU) do what one would do with the joint batch."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from unembed.training.log import read_log

SCRIPT = Path(__file__).with_name("one_of_two.py")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch(config, folder, *, processes):
    """Run the script in that many processes; the averaged gradients of the first update."""
    file, gradients = folder / f"{processes}.json", folder / f"{processes}.safetensors"
    file.write_text(config.model_copy(update={"output": folder / str(processes)}).model_dump_json())
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(processes)}
    shared |= {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"} if processes > 1 else {}
    running = []
    for rank in range(processes):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank)} if processes > 1 else {}
        environment = {**os.environ, **(shared if processes > 1 else {}), **place}
        running.append(
            subprocess.Popen(
                [sys.executable, SCRIPT, file, gradients], env=environment, stderr=subprocess.PIPE, text=True
            )
        )
    for process in running:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    return load_file(gradients), read_log(folder / str(processes))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        # Groups of unequal size, some of one sample: one process has nothing to do there.
        {"batch": 14, "groups": 5, "head_batch": 0, "weighting": "bound", "limit": 60},
        {"batch": 15, "groups": 3, "head_batch": 7, "weighting": "token", "accumulate": 2},
    ],
    ids=["bound", "token"],
)
def test_averaged_gradients_are_those_of_the_joint_batch(toy_config, tmp_path, change):
    config = toy_config.model_copy(
        update={"dropout": 0.0, "steps": 3, "validate_size": 8, "sample_size": 4, "limit": 300} | change
    )
    alone, log_alone = launch(config, tmp_path, processes=1)
    together, log_together = launch(config, tmp_path, processes=2)
    assert alone.keys() == together.keys()
    for name, gradient in alone.items():
        torch.testing.assert_close(together[name], gradient, atol=1e-6, rtol=1e-4, msg=name)
    assert any(gradient.abs().max() > 1e-3 for gradient in alone.values())
    losses = [[line["loss"] for line in log if line["kind"] == "train"] for log in (log_alone, log_together)]
    assert len(losses[0]) == 3
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
