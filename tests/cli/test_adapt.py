"""`unembed adapt`, as people type it, on the bundled model; its surrogate is the other encoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import toy
from typed import unembed
from unembed.model.bundled import BUNDLED

OTHER = str(BUNDLED / "surrogate")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(toy.sentences(120)), encoding="utf-8")
    return path


def test_from_texts_to_an_inverted_sentence(texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapter"
    arguments = ("adapt", "--encoder", OTHER, "--texts", texts, "--pairs", "100", "-o", out)
    made = unembed(*arguments)
    assert made.returncode == 0
    assert "100 pairs explain" in made.stderr
    again = unembed(*arguments, "--json")
    described = json.loads(again.stdout)
    assert described["fit"]["pairs"] == 100
    assert described["base"]["name"] == "bundled"
    shown = unembed("model", "show", out, "--json")
    assert json.loads(shown.stdout)["encoder"]
    found = unembed("invert", "--model", out, "The cat sees the river again.", "--json")
    assert found.returncode == 0
    assert json.loads(found.stdout)


def test_a_dry_run_says_what_would_be_embedded_and_writes_nothing(texts: Path, tmp_path: Path) -> None:
    found = unembed(
        "adapt", "--encoder", "openai:some-model", "--texts", texts, "--pairs", "100", "--dry-run"
    )
    assert found.returncode == 0
    assert "100 texts of about" in found.stderr
    assert list(tmp_path.iterdir()) == [texts]


def test_without_pairs_a_guided_search_makes_the_map(tmp_path: Path) -> None:
    out = tmp_path / "adapter"
    made = unembed("adapt", "--encoder", OTHER, "--pairs", "0", "-o", out)
    assert made.returncode == 0
    assert "--strategy guided" in made.stderr
    text = "The cat sees the river again."
    plain = unembed("invert", "--model", out, text)
    assert plain.returncode == 2
    assert "without pairs" in plain.stderr
    search = ("--strategy", "guided", "--max-encoder-calls")
    few = unembed("invert", "--model", out, text, *search, "50")
    assert few.returncode == 2
    assert "50 encoder calls are too few" in few.stderr
    found = unembed("invert", "--model", out, text, *search, "70", "--json")
    assert found.returncode == 0
    assert 50 < json.loads(found.stdout)["encoder_calls"] <= 70


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--encoder", "minilm"), "Missing option '-o'"),
        (("-o", "x"), "pairs of texts and vectors"),
        (("--encoder", "minilm", "--texts", "none.txt", "-o", "x"), "nothing to adapt"),
        (("--encoder", OTHER, "--texts", "none.txt", "-o", "x"), "There is no file none.txt"),
        (("--encoder", "nothing-like-it", "--texts", "none.txt", "-o", "x"), "There is no encoder"),
        (("--pairs-from", "none.parquet", "-o", "x"), "There is no file none.parquet"),
        (("--encoder", OTHER, "--pairs", "10", "-o", "x"), "cannot be fitted on 10 pairs: 50 are the least"),
        (("--encoder", OTHER, "--pairs", "0", "--minutes", "1", "-o", "x"), "nothing to fit"),
        (("--encoder", "nothing-like-it", "--pairs", "0", "-o", "x"), "There is no encoder"),
        (("--encoder", OTHER, "--pairs", "100", "--minutes", "1", "-o", "x"), "too few to fine-tune on"),
    ],
)
def test_wrong_input_is_one_line(arguments, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = unembed("adapt", *arguments)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
