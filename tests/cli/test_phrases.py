"""`unembed phrases`, as people type it: texts in, a file in the model's folder out, which a search reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tiny
import toy
from typed import Ran, unembed
from unembed import Inverter
from unembed.data.normalise import text_keys
from unembed.data.split import SPLITS, split_labels
from unembed.model.trigrams import PHRASES


def run(*arguments: object) -> Ran:
    return unembed("phrases", *arguments)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    fit = encoder.encode(toy.sentences(200))
    return tiny.save(
        tiny.checkpoint(encoder.tokenizer(), encoder.info, length="given", fit_to=fit), tmp_path / "model"
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Every sentence twice, and an empty line."""
    texts = sorted(set(toy.sentences(400)))
    file = tmp_path / "corpus.txt"
    file.write_text("\n".join([*texts, "", *texts]) + "\n", encoding="utf-8")
    return file


def test_it_counts_training_texts_once_and_the_model_knows_them(model: Path, corpus: Path) -> None:
    options = ["--model", model, "--source", f"en={corpus}", "--test-share", "0.2", "--json"]
    ran = subprocess.run(
        [sys.executable, "-m", "unembed", "phrases", *map(str, options)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    texts = sorted(set(toy.sentences(400)))
    sides = split_labels(text_keys(texts), validation_share=0.01, test_share=0.2)
    assert told["texts"] == int((sides == SPLITS.index("train")).sum())
    assert told["held_out"] == len(texts) - told["texts"]
    assert told["repeated"] == len(texts)
    assert told["phrases"] == str(model / PHRASES)
    inverter = Inverter.from_pretrained(model)
    phrases = inverter.phrases
    assert phrases is not None
    assert (len(phrases.pairs), len(phrases.triples)) == (told["pairs"], told["triples"])
    tokenizer, vocabulary = inverter.checkpoint.tokenizer, inverter.checkpoint.vocabulary
    held = [text for text, side in zip(texts, sides, strict=True) if side == SPLITS.index("test")]
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in held]
    entries = [vocabulary.encode(np.array(some)).tolist() for some in ids]
    turned = [some[::-1] for some in entries]
    right, wrong = np.mean(phrases.trigram_log_probs(entries)), np.mean(phrases.trigram_log_probs(turned))
    assert right > wrong + 3


def test_counting_again_replaces_them(model: Path, corpus: Path) -> None:
    for share in ("0.2", "0.5"):
        ran = run("--model", model, "--source", f"en={corpus}", "--test-share", share, "--json")
        assert ran.returncode == 0, ran.stderr
        phrases = Inverter.from_pretrained(model).phrases
        assert phrases is not None
        assert len(phrases.pairs) == json.loads(ran.stdout)["pairs"]


def test_it_says_what_it_did(model: Path, corpus: Path, tmp_path: Path) -> None:
    ran = run("--model", model, "--source", corpus, "-o", tmp_path / "other.npz")
    assert ran.returncode == 0, ran.stderr
    assert "triples of" in ran.stderr + ran.stdout
    assert (tmp_path / "other.npz").exists()
    assert not (model / PHRASES).exists()


def test_without_texts_it_says_what_to_give(model: Path, tmp_path: Path) -> None:
    ran = run("--model", model)
    assert ran.returncode != 0
    assert "--source" in ran.stderr
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    ran = run("--model", model, "--source", tmp_path / "empty.txt")
    assert ran.returncode != 0
    assert "no text to count" in ran.stderr
    assert not (model / PHRASES).exists()


def test_a_damaged_file_stops_a_search_and_not_a_plain_inversion(model: Path, corpus: Path) -> None:
    (model / PHRASES).write_bytes(b"damaged")
    vector = toy.ToyEncoder(tokenizer=toy.wordpiece()).encode(["the cat"])
    np.save(model / "v.npy", vector)
    plain = unembed("invert", "--model", model, "--embedding", model / "v.npy")
    assert plain.returncode == 0, plain.stderr
    with pytest.raises(Exception, match="is damaged"):
        _ = Inverter.from_pretrained(model).phrases
