"""The whole road: data, training, recovery from vectors alone, the right words in the right order."""

import pytest
import torch
from toy_language import prepare_language

from unembed.model.checkpoint import Checkpoint
from unembed.training.config import TrainConfig
from unembed.training.log import read_log
from unembed.training.training_loop import train

COMPACT = {
    "length": "given",
    "lexical_hidden": 64,
    "memory": 4,
    "candidates": 8,
    "head_batch": 32,
    "groups": 2,
}
PAPER = {"length": "fixed", "max_length": 6, "weighting": "bound"}


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    return prepare_language(tmp_path_factory.mktemp("language"))


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # at this size threads only wait for each other
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "precision"),
    [(COMPACT, "fp32"), (PAPER, "fp32"), (COMPACT, "bf16"), (PAPER, "bf16")],
    ids=["compact", "paper", "compact-bf16", "paper-bf16"],
)
def test_a_small_language_is_recovered_from_its_vectors_alone(
    language, tmp_path, one_thread, preset, precision
):
    settings = {
        "layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "dropout": 0.0, "max_length": 8,
        "weighting": "token", "batch": 64, "steps": 300, "learning_rate": 3e-3, "warmup": 30,
        "decay": "linear", "ema": 0.99, "validate_every": 300, "sample_every": 300, "validate_size": 64,
        "sample_size": 100, "save_every": 300, "log_every": 50, "device": "cpu",
        "precision": precision,
    }  # fmt: skip
    config = TrainConfig(data=(language,), output=tmp_path / "run", **(settings | preset))
    train(config)
    lines = read_log(config.output)
    samples = [line for line in lines if line["kind"] == "sample"]
    bounds = [line["bound"] for line in lines if line["kind"] == "validation"]
    assert samples[-1]["accuracy"] > 0.95
    assert samples[-1]["exact"] > 0.8
    assert samples[-1]["n"] == 100
    assert all(original == recovered for original, recovered in samples[-1]["examples"])
    assert bounds[-1] < 0.3  # nats a token; guessing blindly costs ln 10 = 2.3
    assert Checkpoint.from_pretrained(config.output / "best").config.training["step"] == 300
