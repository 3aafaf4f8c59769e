"""bf16 with float32 weights: losses follow float32's, resuming is exact, `auto` takes it where it is fast."""

import json
import os
import signal

import pytest
import torch
from safetensors.torch import load_file

from unembed.compute.precision import Processor
from unembed.model.checkpoint import Checkpoint
from unembed.training import trainer_state
from unembed.training.log import read_log
from unembed.training.surrogate_config import SurrogateTrainConfig
from unembed.training.surrogate_training import train_surrogate
from unembed.training.trainer_state import Progress, started
from unembed.training.training_loop import train
from unembed.training.training_precision import choose_training_precision

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")
PAPER = {"length": "fixed", "lexical_hidden": 0, "memory": 0, "candidates": 0, "head_batch": 0, "groups": 1}


def processor_with(monkeypatch, *, bf16):
    monkeypatch.setattr(Processor, "here", lambda: Processor(vnni=True, bf16=bf16))


def logged(config, kind="train"):
    lines = [line for line in read_log(config.output) if line["kind"] == kind]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


def stop_at(step):
    def watch(event, progress, figures):
        if event == "step" and progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return watch


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"candidates": 0, "memory": 0, "head_transform": True, "condition_dropout": 0.0},
        {"head_batch": 0, "modulation_limit": 2.0, "accumulate": 2},
        PAPER,
        PAPER | {"length": "given", "groups": 4, "head_transform": True, "noise": "exponential"},
    ],
    ids=["candidates", "all words", "heads of the groups", "paper", "paper, lengths given"],
)
def test_losses_follow_those_of_float32(toy_config, tmp_path, change):
    common = {"dropout": 0.0, "steps": 8, "validate_every": 8, "sample_every": 8} | change
    curves = {}
    for kind in ("fp32", "bf16"):
        config = toy_config.model_copy(update=common | {"precision": kind, "output": tmp_path / kind})
        train(config)
        curves[kind] = [line["loss"] for line in logged(config)]
        assert logged(config, "start")[0]["precision"] == kind
    assert curves["bf16"] == pytest.approx(curves["fp32"], rel=0.02)
    assert curves["bf16"] != curves["fp32"]  # it really was another precision


def test_a_resumed_run_is_the_same_to_the_last_bit(toy_config, tmp_path):
    config = toy_config.model_copy(update={"precision": "bf16", "output": tmp_path / "whole", "steps": 8})
    whole = train(config).denoiser.state_dict()
    stopped = config.model_copy(update={"output": tmp_path / "stopped"})
    with pytest.raises(KeyboardInterrupt):
        train(stopped, stop_at(5))
    resumed = train(stopped).denoiser.state_dict()
    assert logged(stopped) == logged(config)
    assert all(torch.equal(weight, resumed[name]) for name, weight in whole.items())


def test_what_is_saved_is_float32(toy_config):
    config = toy_config.model_copy(update={"precision": "bf16", "steps": 3})
    train(config)
    pointer = json.loads((config.output / "state" / trainer_state.LATEST).read_text())
    for name in ("weights", "average", "optimiser"):
        tensors = load_file(config.output / "state" / pointer["folder"] / f"{name}.safetensors")
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}, name
    weights = load_file(config.output / "state" / pointer["folder"] / "weights.safetensors")
    matrix = weights["blocks.0.feed_forward.up.weight"]
    assert not torch.equal(matrix, matrix.bfloat16().float())  # and not bf16 in a float32 coat
    saved = Checkpoint.from_pretrained(config.output / "latest").denoiser
    assert {weight.dtype for weight in saved.parameters()} == {torch.float32}


@pytest.mark.parametrize(("bf16", "expected"), [(False, "fp32"), (True, "bf16")])
def test_auto_takes_what_the_processor_has(monkeypatch, bf16, expected):
    processor_with(monkeypatch, bf16=bf16)
    assert choose_training_precision("auto", CPU) == expected
    assert choose_training_precision("fp32", CPU) == "fp32"
    assert choose_training_precision("bf16", CPU) == "bf16"
    assert choose_training_precision("auto", torch.device("mps")) == "fp32"


@pytest.mark.parametrize("begun", ["fp32", "bf16"])
def test_a_run_goes_on_in_the_precision_that_it_began_with(toy_config, monkeypatch, begun):
    config = toy_config.model_copy(update={"precision": "auto", "steps": 4})
    processor_with(monkeypatch, bf16=begun == "bf16")
    with pytest.raises(KeyboardInterrupt):
        train(config, stop_at(2))
    processor_with(monkeypatch, bf16=begun == "fp32")  # moved to the other machine
    train(config)
    assert [line["precision"] for line in logged(config, "start")] == [begun, begun]


def test_states_from_before_it_was_recorded_go_on_in_float32(monkeypatch):
    processor_with(monkeypatch, bf16=True)
    assert started(None, "auto", CPU).precision == "bf16"
    assert started(Progress(step=5), "auto", CPU) == Progress(step=5, precision="fp32")
    assert started(Progress(step=5), "bf16", CPU) == Progress(step=5, precision="bf16")


def test_a_surrogate_learns_in_bf16_and_resumes_exactly(toy_data, tmp_path):
    config = SurrogateTrainConfig(
        data=(toy_data,), output=tmp_path / "fp32", hidden=32, layers=1, heads=2, ffn=64, max_tokens=16,
        batch=64, groups=4, steps=30, warmup=5, learning_rate=5e-3, ema=0.9, log_every=1,
        validate_every=30, save_every=10, precision="fp32",
    )  # fmt: skip
    train_surrogate(config)
    half = config.model_copy(update={"output": tmp_path / "bf16", "precision": "bf16"})
    whole = train_surrogate(half).network.state_dict()
    curves = [[line["cosine"] for line in logged(run)] for run in (config, half)]
    assert curves[1] == pytest.approx(curves[0], abs=0.02)
    assert curves[1] != curves[0]
    stopped = half.model_copy(update={"output": tmp_path / "stopped"})

    def stop(kind, progress, figures):
        if progress.step == 13:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        train_surrogate(stopped, stop)
    resumed = train_surrogate(stopped).network.state_dict()
    assert all(torch.equal(weight, resumed[name]) for name, weight in whole.items())
    assert {weight.dtype for weight in resumed.values()} == {torch.float32}
