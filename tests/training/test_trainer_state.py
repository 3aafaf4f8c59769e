"""The state on disk: whole or absent, its own run's or refused."""

import errno
import json
import os

import pytest
import torch

import toy
from unembed.data.config import EncodeConfig
from unembed.data.encode import encode
from unembed.errors import DataError, MismatchError, UnavailableError, UnembedError
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.storage import folder_lock
from unembed.training import trainer_state, training_loop
from unembed.training.log import read_log
from unembed.training.training_loop import train
from unembed.training.training_run import TrainingRun


@pytest.fixture
def finished(toy_config):
    config = toy_config.model_copy(update={"steps": 4, "save_every": 2, "validate_size": 8, "sample_size": 4})
    train(config)
    return config


def losses(config):
    return [(line["step"], line["loss"]) for line in read_log(config.output) if line["kind"] == "train"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"learning_rate": 2e-3}, "config.learning_rate was 0.001, now 0.002"),
        ({"steps": 9}, "config.steps was 4, now 9"),
        ({"hidden": 32}, "config.hidden was 64, now 32"),
        ({"seed": 1}, "config.seed was 0, now 1"),
    ],
)
def test_another_configuration_is_refused(finished, change, named):
    with pytest.raises(MismatchError, match=named):
        train(finished.model_copy(update=change))


def test_settings_that_change_nothing_learned_may_change(finished):
    before = losses(finished)
    again = train(finished.model_copy(update={"log_every": 3, "save_every": 3, "milestones": (2,)}))
    assert losses(finished) == before  # it was finished: nothing is trained again
    kept = Checkpoint.from_pretrained(finished.output / "latest").denoiser.state_dict()
    learnt = again.denoiser.state_dict()
    assert learnt.keys() == kept.keys()
    assert all(torch.equal(weight, kept[name]) for name, weight in learnt.items())


def edit_pointer(config, change):
    path = config.output / "state" / "latest.json"
    pointer = json.loads(path.read_text())
    change(pointer)
    path.write_text(json.dumps(pointer))


@pytest.mark.parametrize("part", ["data", "tokenizer"])
def test_other_data_and_another_tokenizer_are_refused(finished, part):
    """What the state remembers against what the data's manifest says."""

    def change(pointer):
        pointer["run"][part] = {"0": "f" * 64} if part == "data" else "f" * 64

    edit_pointer(finished, change)
    with pytest.raises(MismatchError, match=f"{part}.* was ffff"):
        train(finished)


def test_really_other_data_is_refused(finished, toy_data, tmp_path):
    config = EncodeConfig(seq_len=16, validation_share=0.1, test_share=0.05)
    encoder = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    encode(config, toy_data.parent / "texts", tmp_path / "other", encoder=encoder)
    with pytest.raises(MismatchError, match=r"data\.0 was"):
        train(finished.model_copy(update={"data": (tmp_path / "other",)}))


@pytest.mark.parametrize("name", ["weights", "average", "optimiser"])
@pytest.mark.parametrize("damage", ["truncated", "altered", "missing"])
def test_a_damaged_state_is_named(finished, name, damage):
    (path,) = finished.output.glob(f"state/step-*/{name}.safetensors")
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[:-7])
    else:
        content[-7] ^= 1
        path.write_bytes(content)
    with pytest.raises(DataError, match=rf"{name}\.safetensors is (damaged|missing)"):
        train(finished)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.pop("progress"),
        lambda p: p["progress"].update(step="many"),
        lambda p: p["digests"].pop("weights"),
        lambda p: p["digests"].update(average=p["digests"]["weights"]),
    ],
)
def test_a_tampered_pointer_is_refused(finished, change):
    edit_pointer(finished, change)
    with pytest.raises(DataError):
        train(finished)


def test_half_a_pointer_is_refused(finished):
    path = finished.output / "state" / "latest.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(DataError, match="not valid JSON"):
        train(finished)


def test_a_moment_of_an_unknown_weight_is_refused(finished, monkeypatch):
    original = trainer_state._moments
    monkeypatch.setattr(
        trainer_state, "_moments", lambda d, o: {f"x{name}": value for name, value in original(d, o).items()}
    )
    other = finished.model_copy(update={"output": finished.output.parent / "other"})
    train(other)
    monkeypatch.undo()
    with pytest.raises(DataError, match="not a state of this model"):
        train(other)


def test_no_pickle_lies_in_the_folder_and_nothing_is_left_over(finished):
    files = [path for path in finished.output.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".jsonl", ".safetensors", ".md", ""}
    for path in files:
        assert not path.read_bytes().startswith((b"\x80", b"PK"))  # a pickle, a zip of pickles
    assert [path.name for path in (finished.output / "state").glob("step-*")] == ["step-00000004"]
    assert not list(finished.output.rglob("*.partial")) + list(finished.output.rglob("*.old"))


def test_a_full_disk_keeps_the_previous_state(toy_config, monkeypatch):
    config = toy_config.model_copy(
        update={"steps": 6, "save_every": 2, "validate_every": 6, "sample_every": 6}
    )
    reference = config.model_copy(update={"output": config.output.parent / "whole"})
    train(reference)

    original, calls = trainer_state.save_tensors, []

    def until_full(tensors):
        calls.append(1)
        if len(calls) == 5:  # the second file of the second state
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(tensors)

    monkeypatch.setattr(trainer_state, "save_tensors", until_full)
    with pytest.raises(OSError, match="No space left"):
        train(config)
    monkeypatch.undo()
    assert [path.name for path in (config.output / "state").glob("step-*")] == ["step-00000002"]
    train(config)
    assert losses(config) == losses(reference)


def test_a_full_disk_is_reported_with_what_to_do(toy_config, monkeypatch):
    config = toy_config.model_copy(update={"steps": 2, "save_every": 2, "validate_size": 8, "sample_size": 4})
    real = os.fsync

    def fsync(handle):
        if "safetensors" in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(UnavailableError, match="disk is full") as caught:
        train(config)
    assert "Free some space" in str(caught.value.hint)


def test_a_checkpoint_swap_that_was_cut_in_two_is_mended(finished, monkeypatch):
    latest = finished.output / "latest"
    model = Checkpoint.from_pretrained(latest)
    latest.rename(finished.output / "latest.old")  # killed between the two renames

    def full(self, folder, **_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Checkpoint, "save_pretrained", full)
    with pytest.raises(OSError, match="No space"):
        model.save(latest)
    assert Checkpoint.from_pretrained(latest)
    assert not list(finished.output.glob("latest.*"))


def test_two_runs_in_one_folder_exclude_each_other(toy_config):
    toy_config.output.mkdir()
    with folder_lock(toy_config.output), pytest.raises(UnembedError):
        train(toy_config)


def test_a_finished_run_is_left_as_it_is(finished, monkeypatch):
    before = (finished.output / "log.jsonl").read_bytes()
    monkeypatch.setattr(training_loop, "learn", lambda run, stop: pytest.fail("learned again"))
    train(finished)
    assert (finished.output / "log.jsonl").read_bytes() == before


def test_a_better_best_keeps_the_phrases_that_were_put_there(finished):
    best = Checkpoint.from_pretrained(finished.output / "best")
    best.add_phrases(Phrases.count([[1, 2, 3]], best.vocabulary, min_pairs=1, min_triples=1))
    run = TrainingRun(finished, training_loop.make_accelerator(finished), lambda *_: None)
    run.progress = run.progress.model_copy(update={"step": run.progress.step + 1})
    run.save_model("best")
    run.close()
    better = Checkpoint.from_pretrained(finished.output / "best")
    assert better.config.training["step"] == best.config.training["step"] + 1
    assert better.phrases is not None
