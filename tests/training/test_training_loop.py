"""What a run decides by itself: when to stop, what to keep, how large a batch may be."""

import math
import os
import signal
from itertools import count
from types import SimpleNamespace

import pytest
import torch

from unembed.errors import DataError, UnavailableError
from unembed.model.checkpoint import Checkpoint
from unembed.training import largest_batch, training_objective, training_run
from unembed.training.log import read_log
from unembed.training.process import stop_requests
from unembed.training.training_loop import train
from unembed.training.validate import Sample


def lines(config, kind):
    return [line for line in read_log(config.output) if line["kind"] == kind]


def scripted(monkeypatch, *, bounds=None, accuracies=None):
    """Validations and samples that give these values, one after the other."""
    bound, accuracy = iter(bounds or [1.0] * 99), iter(accuracies or [0.5] * 99)
    monkeypatch.setattr(training_run, "validation_bound", lambda *a, **k: next(bound))
    monkeypatch.setattr(training_run, "free_running", lambda *a, **k: Sample(next(accuracy), 0.0, 0.0, 1, []))


@pytest.mark.parametrize("select", ["bound", "accuracy"])
def test_patience_ends_a_run_that_gets_no_better(toy_config, monkeypatch, select):
    bounds, accuracies = [3.0, 2.0, 2.5, 2.0, 2.1], [0.1, 0.3, 0.3, 0.2]
    values = {"bounds": bounds} if select == "bound" else {"accuracies": accuracies}
    scripted(monkeypatch, **values)
    config = toy_config.model_copy(
        update={"select": select, "patience": 2, "validate_every": 2, "sample_every": 2, "steps": 40}
    )
    train(config)
    assert lines(config, "end")[-1]["step"] == 8
    best = Checkpoint.from_pretrained(config.output / "best").config.training
    assert best["step"] == 4
    train(config)  # and it stays ended
    assert lines(config, "end")[-1]["step"] == 8


def test_validation_and_samples_keep_their_own_time(toy_config, monkeypatch):
    scripted(monkeypatch)
    config = toy_config.model_copy(
        update={"validate_every": 3, "sample_every": 5, "steps": 10, "save_every": 50}
    )
    train(config)
    assert [line["step"] for line in lines(config, "validation")] == [3, 6, 9, 10]  # and at the end
    assert [line["step"] for line in lines(config, "sample")] == [5, 10]


def test_milestones_are_kept(toy_config):
    config = toy_config.model_copy(update={"milestones": (3, 7), "steps": 8})
    train(config)
    kept = sorted((config.output / "milestones").iterdir())
    assert [path.name for path in kept] == ["step-00000003", "step-00000007"]
    steps = [Checkpoint.from_pretrained(path).config.training["step"] for path in kept]
    assert steps == [3, 7]


def test_samples_are_counted_as_they_are(toy_config):
    """Groups at the end of a bucket are smaller than a full one."""
    config = toy_config.model_copy(update={"limit": 50, "steps": 4, "groups": 2})
    train(config)
    seen = [line["samples"] for line in lines(config, "train")]
    assert seen == sorted(set(seen))
    assert seen[-1] < 4 * config.batch


def spoil(monkeypatch, steps):
    """The loss of these steps is no number."""
    original, seen = training_objective.Objective.forward, []

    def forward(self, step):
        losses = original(self, step)
        seen.append(step)
        return {name: value * math.nan for name, value in losses.items()} if len(seen) in steps else losses

    monkeypatch.setattr(training_objective.Objective, "forward", forward)


def test_a_gradient_that_is_not_finite_changes_nothing(toy_config, monkeypatch):
    config = toy_config.model_copy(update={"steps": 5})
    spoil(monkeypatch, {1, 2, 4})
    model = train(config)
    assert all(bool(torch.isfinite(weight).all()) for weight in model.denoiser.state_dict().values())
    skipped = lines(config, "skipped")
    assert [line["step"] for line in skipped] == [1, 2, 4]
    assert all(line["loss"] is None for line in skipped)
    assert all(math.isfinite(line["loss"]) for line in lines(config, "train"))


def test_weights_stay_as_they_were(toy_config, monkeypatch, tmp_path):
    spoil(monkeypatch, {2})
    config = toy_config.model_copy(update={"steps": 2})
    two = train(config).denoiser.state_dict()
    one = train(config.model_copy(update={"steps": 1, "output": tmp_path / "one"})).denoiser.state_dict()
    for name, weight in one.items():
        assert torch.equal(weight, two[name]), name


def test_one_after_the_other_they_end_the_run(toy_config, monkeypatch):
    spoil(monkeypatch, set(range(2, 100)))
    with pytest.raises(DataError, match="not finite 10 times in a row, last at step 11"):
        train(toy_config.model_copy(update={"steps": 50}))


def test_the_checkpoint_says_how_it_was_trained(toy_config):
    config = toy_config.model_copy(update={"steps": 3})
    model = train(config)
    saved = Checkpoint.from_pretrained(config.output / "latest")
    for training in (model.config.training, saved.config.training):
        assert training["step"] == 3
        assert training["samples"] > 0
        assert training["config"]["hidden"] == 64
        assert len(training["data"][0]) == 64
    assert saved.config.encoder.name == "toy"
    mean, spread = saved.config.vector_norm
    assert mean == pytest.approx(1.0, abs=1e-3)
    assert spread < 1e-3


def test_the_batch_is_halved_until_it_fits(toy_config, monkeypatch):
    tried = []
    original = largest_batch._attempt

    def attempt(run, make_batch, indices):
        tried.append(len(indices))
        original(run, make_batch, indices)
        if len(indices) > 10:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(largest_batch, "_attempt", attempt)
    config = toy_config.model_copy(update={"find_batch": True, "steps": 3, "groups": 1})
    train(config)
    assert tried == [32, 16, 8]
    assert lines(config, "start")[0]["batch"] == 8
    assert lines(config, "train")[-1]["samples"] <= 24
    # A later sitting does not search again: the batch is part of the run.
    monkeypatch.setattr(largest_batch, "_attempt", lambda *_: pytest.fail("searched again"))
    train(config)


def test_other_errors_are_not_taken_for_a_lack_of_memory(toy_config, monkeypatch):
    def attempt(*_):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(largest_batch, "_attempt", attempt)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        train(toy_config.model_copy(update={"find_batch": True}))


def test_where_nothing_fits_that_is_said(toy_config, monkeypatch):
    def attempt(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(largest_batch, "_attempt", attempt)
    with pytest.raises(UnavailableError, match="Not even one sample"):
        train(toy_config.model_copy(update={"find_batch": True}))


def test_a_second_request_is_final():
    with stop_requests() as event:
        os.kill(os.getpid(), signal.SIGINT)
        assert event.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_minutes_decide_where_they_are_given(toy_config, monkeypatch):
    ticks = count(start=0, step=5)  # each update takes five seconds
    monkeypatch.setattr(training_run, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    config = toy_config.model_copy(
        update={
            "minutes": 2.0,
            "steps": 1,
            "warmup": 4,
            "log_every": 1,
            "validate_size": 4,
            "sample_size": 2,
            "save_every": 10**6,
        }
    )
    train(config)
    end = lines(config, "end")[-1]
    assert (end["step"], end["seconds"]) == (24, 120.0)
    rates = [line["rate"] for line in lines(config, "train")]
    assert len(rates) == 24
    assert rates[-1] < max(rates) / 4
