"""`unembed casing`, as people type it: texts in, a file in the model's folder out, which a search reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tiny
import toy
from typed import Ran, unembed
from unembed.errors import UnembedError
from unembed.model.checkpoint import Checkpoint
from unembed.model.truecasing import CASING


def run(*arguments: object) -> Ran:
    return unembed("casing", *arguments)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    return tiny.save(tiny.checkpoint(encoder.tokenizer(), encoder.info), tmp_path / "model")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "texts.txt"
    lines = [f"Today Tom saw {number} cats at the BBC." for number in range(50)]
    file.write_text("\n".join([*lines, "", *lines]) + "\n", encoding="utf-8")
    return file


def test_it_counts_training_texts_once_and_the_model_knows_them(model: Path, texts: Path) -> None:
    assert Checkpoint.from_pretrained(model).casing.usual("tom") == "tom"
    options = ["--model", model, "--source", f"en={texts}", "--test-share", "0.2", "--json"]
    ran = subprocess.run(
        [sys.executable, "-m", "unembed", "casing", *map(str, options)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["texts"] + told["held_out"] == 50
    assert told["held_out"] > 0
    assert told["words"] == 2
    assert told["bytes"] == (model / CASING).stat().st_size
    checkpoint = Checkpoint.from_pretrained(model)
    assert (checkpoint.casing.usual("tom"), checkpoint.casing.usual("bbc")) == ("Tom", "BBC")
    assert CASING in checkpoint.config.digests
    checkpoint.save_pretrained(model.with_name("copy"))
    assert (model.with_name("copy") / CASING).read_bytes() == (model / CASING).read_bytes()


def test_it_says_what_it_did(model: Path, texts: Path, tmp_path: Path) -> None:
    ran = run("--model", model, "--source", texts, "-o", tmp_path / "other.npz")
    assert ran.returncode == 0, ran.stderr
    assert "2 words that are not always lower case" in ran.stderr + ran.stdout
    assert (tmp_path / "other.npz").exists()
    assert not (model / CASING).exists()


def test_without_texts_it_says_what_to_give(model: Path, tmp_path: Path) -> None:
    ran = run("--model", model)
    assert ran.returncode == 2
    assert "--source" in ran.stderr
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    ran = run("--model", model, "--source", tmp_path / "empty.txt")
    assert ran.returncode != 0
    assert "no text to count" in ran.stderr


def test_an_altered_file_is_an_error(model: Path, texts: Path) -> None:
    assert run("--model", model, "--source", texts).returncode == 0
    (model / CASING).write_bytes(b"altered")
    with pytest.raises(UnembedError, match=r"casing\.npz"):
        _ = Checkpoint.from_pretrained(model).casing
