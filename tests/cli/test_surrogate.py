"""`unembed surrogate`, as people type it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tiny
import toy
from typed import Ran, unembed
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.encoders import load_encoder
from unembed.model.checkpoint import load_checkpoint

SMALL = [
    *("--hidden", "16", "--layers", "1", "--heads", "2", "--ffn", "16", "--max-tokens", "16"),
    *("--batch", "16", "--steps", "6", "--warmup", "2", "--log-every", "2"),
    *("--validate-every", "3", "--save-every", "3"),
]


def run(*arguments: object) -> Ran:
    return unembed("surrogate", *arguments)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surrogate")
    (folder / "corpus.txt").write_text("\n".join(toy.sentences(300)) + "\n", encoding="utf-8")
    collect(CollectConfig(source=(f"en={folder / 'corpus.txt'}",)), folder / "texts")
    settings = EncodeConfig(seq_len=16, validation_share=0.1, test_share=0.1)
    encode(settings, folder / "texts", folder / "data", encoder=toy.ToyEncoder(tokenizer=toy.wordpiece()))
    return folder / "data"


def test_it_trains_and_says_where_the_surrogate_is(data: Path, tmp_path: Path) -> None:
    ran = run("--data", data, "-o", tmp_path / "run", "--json", *SMALL)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["step"] == 6
    assert -1 <= told["validation"] <= 1
    assert load_encoder(told["surrogate"]).encode(["the cat"]).shape[0] == 1


def test_it_becomes_a_part_of_the_model(data: Path, tmp_path: Path) -> None:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    model = tiny.save(tiny.checkpoint(encoder.tokenizer(), encoder.info), tmp_path / "model")
    ran = run("--data", data, "--model", model, "--json", *SMALL)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["surrogate"] == str(model / "surrogate")
    assert load_checkpoint(model).surrogate.encode(["the cat"]).shape == (1, 16)
    assert load_checkpoint(model).config.digests["surrogate/surrogate.json"]
    assert (tmp_path / "model-surrogate" / "state").is_dir()  # from where it goes on
    assert not list(model.parent.rglob("*.partial"))


def test_vectors_of_another_encoder_are_refused_before_training(data: Path, tmp_path: Path) -> None:
    other = toy.ToyEncoder(name="other", tokenizer=toy.wordpiece())
    model = tiny.save(tiny.checkpoint(other.tokenizer(), other.info), tmp_path / "model")
    ran = run("--data", data, "--model", model, *SMALL)
    assert ran.returncode == 5
    assert "'other'" in ran.stderr
    assert not (tmp_path / "model-surrogate").exists()


def test_it_needs_nothing_that_only_training_an_inverter_needs(data: Path, tmp_path: Path) -> None:
    """`pip install unembed` brings no accelerate and no matplotlib."""
    without = "import sys; sys.modules.update(accelerate=None, matplotlib=None)\n"
    script = without + "from unembed.cli.main import main; main()"
    typed = [
        sys.executable,
        "-c",
        script,
        "surrogate",
        "--data",
        str(data),
        "-o",
        str(tmp_path / "run"),
        *SMALL,
    ]
    ran = subprocess.run(typed, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_wrong_path_is_one_clear_line(tmp_path: Path) -> None:
    ran = run("--data", tmp_path / "nowhere", "-o", tmp_path / "run")
    assert ran.returncode > 0
    assert "nowhere" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    assert "--data" in run("-o", tmp_path / "run").stderr
