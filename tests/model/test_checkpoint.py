import json
from pathlib import Path

import pytest
import torch

import tiny
from unembed.errors import DataError, UnavailableError, UsageError
from unembed.model.checkpoint import Checkpoint


@pytest.fixture
def model(toy_tokenizer, toy_encoder):
    vectors = toy_encoder.encode(["a cat", "a dog", "the house"])
    return tiny.checkpoint(toy_tokenizer, toy_encoder.info, fit_to=vectors)


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("stored_as", ["float32", "float16", "int8"])
def test_what_is_loaded_is_what_was_saved(model, tmp_path, stored_as):
    model.stored_as = stored_as
    model.save_pretrained(tmp_path / "model")
    again = Checkpoint.from_pretrained(tmp_path / "model")
    assert again.config.model_copy(update={"digests": {}}) == model.config
    assert again.vocabulary.token_ids.tolist() == model.vocabulary.token_ids.tolist()
    assert again.tokenizer.to_str() == model.tokenizer.to_str()
    assert not again.denoiser.training
    before, after = model.denoiser.state_dict(), again.denoiser.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in after.items():
        assert tensor.dtype == torch.float32
        if stored_as == "float32" or name.startswith("standardise."):
            assert torch.equal(tensor, before[name])
        elif stored_as == "int8" and tensor.ndim == 2:
            half_a_step = before[name].abs().amax(dim=1, keepdim=True) / 127 / 2
            assert ((tensor - before[name]).abs() <= 1.01 * half_a_step).all()
        else:
            torch.testing.assert_close(tensor, before[name], atol=1e-4, rtol=1e-3)
    prepared = again.denoiser.prepare(torch.randn(2, 16), torch.tensor([3, 3]))
    assert (
        again.denoiser.hidden(torch.zeros(2, 3, dtype=torch.long), torch.rand(2), prepared).isfinite().all()
    )


def test_float16_halves_the_file(model, tmp_path):
    model.save_pretrained(tmp_path / "whole")
    model.stored_as = "float16"
    model.save_pretrained(tmp_path / "half")
    whole, half = ((tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half"))
    assert half < 0.7 * whole


def test_the_folder_holds_what_it_should_and_no_pickle(folder):
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    card = (folder / "README.md").read_text()
    assert "library_name: unembed" in card


def test_texts_are_the_vocabularys(model):
    entries = model.vocabulary.encode(torch.tensor(model.tokenizer.encode("the cat").ids).numpy())
    assert model.texts([entries.tolist()]) == ["the cat"]


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["truncated", "altered", "missing"])
def test_a_damaged_file_is_named(folder, name, damage):
    path = folder / name
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[:-100])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(DataError, match=name.replace(".", r"\.")):
        Checkpoint.from_pretrained(folder)


def edit(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=2, shape="new"), "has format 2; this version of unembed reads format 1"),
        (lambda c: c.pop("encoder"), "does not describe an unembed model"),
        (lambda c: c["denoiser"].update(layers=2), "does not fit its configuration"),
        (lambda c: c["denoiser"].update(vocabulary=7), "does not fit its configuration"),
        (
            lambda c: c["digests"].pop("tokenizer.json"),
            "tokenizer.json is damaged: its sha256",
        ),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(folder, change, message):
    edit(folder, change)
    with pytest.raises(DataError, match=message):
        Checkpoint.from_pretrained(folder)


def test_half_a_configuration_is_refused(folder):
    path = folder / "config.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(DataError, match="not valid JSON"):
        Checkpoint.from_pretrained(folder)
    path.write_text("[]")
    with pytest.raises(DataError, match="does not describe an unembed model"):
        Checkpoint.from_pretrained(folder)


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(UsageError, match="no model folder"):
        Checkpoint.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(UnavailableError, match="neither a local folder nor"):
        Checkpoint.from_pretrained("nobody/nothing", local_files_only=True)


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not a model's folder: it has no config\.json"):
        Checkpoint.from_pretrained(str(tmp_path))
