"""`accelerate launch` on two machine ranks that meet at an address; then the run goes on with one process."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest
import yaml
from test_distributed import free_port

from unembed.storage import read_json
from unembed.training import training_loop
from unembed.training.log import read_log

# Machine 0 listens on all addresses; each machine reaches it by another one.
ADDRESSES = ("127.0.0.1", "127.0.0.2")


def launch(rank, port, config, output):
    """What is typed on one machine of two, as docs/scale.md has it; without GPUs the device is named."""
    command = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu"]
    command += ["--num_machines", "2", "--num_processes", "2", "--machine_rank", str(rank)]
    command += ["--main_process_ip", ADDRESSES[rank], "--main_process_port", str(port)]
    command += ["--rdzv_backend", "static", "--mixed_precision", "no", "--dynamo_backend", "no"]
    command += [
        "-m",
        "unembed",
        "train",
        "--config",
        str(config),
        "--device",
        "cpu",
        "-o",
        str(output),
        "--json",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    with (config.parent / f"machine-{rank}.txt").open("wb") as said:
        return subprocess.Popen(command, env=environment, stdout=said, stderr=subprocess.STDOUT)


def kill_all(machine):
    """SIGKILL for the launcher and the processes that it started, which have sessions of their own."""
    launcher = psutil.Process(machine.pid)
    processes = [*launcher.children(recursive=True), launcher]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes)
    machine.wait()


def saved_step(output):
    path = output / "state" / "latest.json"
    return read_json(path)["progress"]["step"] if path.exists() else 0


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_two_machines_are_killed_and_one_process_goes_on(toy_config, tmp_path):
    update = {"dropout": 0.0, "steps": 60, "save_every": 5, "validate_every": 60, "sample_every": 60}
    config = toy_config.model_copy(update=update | {"limit": 300, "output": tmp_path / "alone"})
    training_loop.train(config)
    file = tmp_path / "train.yaml"
    values = config.model_dump(mode="json", exclude={"output"})
    file.write_text(yaml.safe_dump(values))

    together = tmp_path / "together"
    port = free_port()
    machines = [launch(rank, port, file, together) for rank in (0, 1)]
    try:
        while saved_step(together) < 10:
            if any(one.poll() not in (None, 0) for one in machines):
                pytest.fail((tmp_path / "machine-0.txt").read_text()[-3000:])
            time.sleep(0.03)
    finally:
        for machine in machines:
            kill_all(machine)
    reached = saved_step(together)
    assert reached >= 10

    training_loop.train(config.model_copy(update={"output": together}))
    alone, resumed = (
        {line["step"]: line["loss"] for line in read_log(folder) if line["kind"] == "train"}
        for folder in (config.output, together)
    )
    assert list(alone) == list(resumed) == list(range(1, 61))
    assert list(resumed.values()) == pytest.approx(list(alone.values()), rel=2e-3)
    starts = [line["step"] for line in read_log(together) if line["kind"] == "start"]
    assert starts == ([0, reached] if reached < 60 else [0])  # where all steps are done, none is left to do
