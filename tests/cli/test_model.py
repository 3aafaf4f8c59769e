import json

import pytest
import torch
from click.testing import CliRunner
from safetensors import safe_open

import tiny
import toy
from unembed.cli.model import command
from unembed.errors import DataError
from unembed.model.checkpoint import load_checkpoint
from unembed.model.parts import WEIGHTS


@pytest.fixture
def folder(tmp_path, toy_encoder):
    path = tmp_path / "model"
    tiny.checkpoint(toy.wordpiece(), toy_encoder.info).save(path)
    return path


def run(*arguments: object) -> str:
    return CliRunner().invoke(command, [str(part) for part in arguments], catch_exceptions=False).output


def test_show_says_whose_vectors_it_inverts(folder):
    facts = json.loads(run("show", folder, "--json"))
    assert facts["encoder"] == "toy"
    assert facts["vector_dimension"] == 16
    assert facts["blocks"] == "1 x 16"
    assert "toy" in run("show", folder)


@pytest.mark.parametrize(("dtype", "stored"), [("float16", "F16"), ("float32", "F32")])
def test_export_stores_weights_as_asked_and_loads_the_same_model(folder, tmp_path, dtype, stored):
    report = json.loads(run("export", folder, "-o", tmp_path / "out", "--dtype", dtype, "--json"))
    path = tmp_path / "out" / WEIGHTS
    assert report["bytes"] == path.stat().st_size
    with safe_open(path, framework="pt") as file:
        assert file.get_slice("token.weight").get_dtype() == stored
    original, exported = load_checkpoint(folder).denoiser, load_checkpoint(tmp_path / "out").denoiser
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype == "float16" else {"rtol": 0, "atol": 0}
    for mine, theirs in zip(original.parameters(), exported.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, **tolerance)


def test_export_sets_the_penalty_of_repeated_words(folder, tmp_path):
    run("export", folder, "-o", tmp_path / "out", "--repeat-penalty", "0.75")
    original, exported = load_checkpoint(folder), load_checkpoint(tmp_path / "out")
    assert original.denoiser.config.repeat_penalty == 0.0
    assert exported.config.denoiser.repeat_penalty == exported.denoiser.words_left.penalty == 0.75
    run("export", tmp_path / "out", "-o", tmp_path / "again")
    assert load_checkpoint(tmp_path / "again").denoiser.words_left.penalty == 0.75


def test_a_tampered_model_is_named(folder):
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (folder / WEIGHTS).write_bytes(data)
    with pytest.raises(DataError, match=WEIGHTS):
        run("show", folder)
