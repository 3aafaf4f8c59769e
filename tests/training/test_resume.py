"""Killed and resumed, a run gives the losses of one that was never interrupted, bit for bit."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from unembed.model.checkpoint import Checkpoint
from unembed.training.log import read_log
from unembed.training.trainer_state import LATEST
from unembed.training.training_loop import train

pytestmark = pytest.mark.usefixtures("one_thread")
SCRIPT = Path(__file__).with_name("killed.py")


def events(config):
    """What was logged, without the clock."""
    lines = [line for line in read_log(config.output) if line["kind"] not in ("start", "stopped")]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


def weights(config, name="latest"):
    return Checkpoint.from_pretrained(config.output / name).denoiser.state_dict()


def assert_same_run(one, other):
    assert events(one) == events(other)
    assert len(events(one)) > 12
    for name in ("latest", "best"):
        for key, tensor in weights(one, name).items():
            assert torch.equal(tensor, weights(other, name)[key]), key


@pytest.fixture
def reference(toy_config, tmp_path):
    """An uninterrupted run, with everything random switched on."""
    assert toy_config.dropout
    assert toy_config.condition_dropout
    config = toy_config.model_copy(update={"output": tmp_path / "whole", "save_every": 3})
    train(config)
    return config


@pytest.mark.slow
def test_kill_dash_nine_at_any_moment(reference, tmp_path):
    config = reference.model_copy(update={"output": tmp_path / "killed"})
    file = tmp_path / "config.json"
    file.write_text(config.model_dump_json())
    for where in ["2", "state", "swap", "8"]:
        process = subprocess.run([sys.executable, SCRIPT, file, where], capture_output=True, text=True)
        assert process.returncode == -signal.SIGKILL, process.stderr
    train(config)
    assert_same_run(config, reference)
    starts = [line["step"] for line in read_log(config.output) if line["kind"] == "start"]
    assert starts == sorted(starts)
    assert len(starts) >= 3  # it really was resumed, more than once


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_request_saves_the_step_in_hand(reference, tmp_path, kind):
    config = reference.model_copy(update={"output": tmp_path / "stopped"})

    def request(event, progress, figures):
        if event == "step" and progress.step == 5:
            os.kill(os.getpid(), kind)

    before = signal.getsignal(kind)
    with pytest.raises(KeyboardInterrupt):
        train(config, request)
    assert signal.getsignal(kind) is before
    pointer = json.loads((config.output / "state" / LATEST).read_text())
    assert pointer["progress"]["step"] == 5
    assert read_log(config.output)[-1]["kind"] == "stopped"
    train(config)
    assert_same_run(config, reference)


def test_accumulated_batches_resume_too(toy_config, tmp_path):
    settings = {"accumulate": 2, "steps": 6, "save_every": 2, "validate_every": 3, "sample_every": 2}
    whole = toy_config.model_copy(update=settings | {"output": tmp_path / "whole"})
    train(whole)
    config = toy_config.model_copy(update=settings | {"output": tmp_path / "stopped"})

    class Stop(Exception):
        pass

    def stop(event, progress, figures):
        if event == "step" and progress.step == 3:
            raise Stop

    with pytest.raises(Stop):
        train(config, stop)
    train(config)
    assert events(config) == events(whole)


def test_the_clock_goes_on_where_it_stopped(toy_config):
    """A run by the clock does not begin its minutes anew."""
    config = toy_config.model_copy(update={"minutes": 10.0, "save_every": 1, "validate_every": 1000})
    config = config.model_copy(update={"sample_every": 1000})

    def stop_at(step):
        def watch(event, progress, figures):
            if event == "step" and progress.step == step:
                os.kill(os.getpid(), signal.SIGTERM)

        return watch

    seconds = []
    for step in (2, 4):
        with pytest.raises(KeyboardInterrupt):
            train(config, stop_at(step))
        pointer = json.loads((config.output / "state" / LATEST).read_text())
        seconds.append(pointer["progress"]["seconds"])
    assert 0 < seconds[0] < seconds[1]
