"""The bundled model and the real bundled encoder, end to end: what a new user types first."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from typed import unembed
from unembed import Inverter
from unembed.inverter import BUNDLED
from unembed.metrics.f1 import token_f1

SENTENCES = [
    "Tom wants to buy a new car.",
    "I have never been to Australia.",
    "She is reading a book in the kitchen.",
    "Where did you learn to speak French?",
    "My brother works in a hospital.",
    "The train leaves at seven in the morning.",
    "He didn't say anything about the money.",
    "It has been raining since yesterday.",
    "Could you open the window, please?",
    "We are going to visit our grandparents on Sunday.",
]


@pytest.fixture
def inverter(bundled: Inverter) -> Inverter:
    return bundled


@pytest.fixture(scope="module")
def vectors(bundled: Inverter) -> np.ndarray:
    return np.asarray(bundled.encode(SENTENCES))


def test_most_words_of_everyday_sentences_come_back(inverter, vectors):
    tokenizer = inverter.checkpoint.tokenizer
    truths = [tokenizer.encode(text, add_special_tokens=False).ids for text in SENTENCES]
    scores = [token_f1(t, r.tokens) for t, r in zip(truths, inverter.invert(vectors), strict=True)]
    shuffled = [token_f1(t, r.tokens) for t, r in zip(truths, inverter.invert(vectors[::-1]), strict=True)]
    assert np.mean(scores) > 0.6
    assert np.mean(scores) > 2 * np.mean(shuffled)


def test_the_same_seed_gives_the_same_texts(inverter, vectors):
    first, second = (inverter.invert(vectors[:3], strategy="euler", steps=4, seed=5) for _ in range(2))
    assert [one.text for one in first] == [one.text for one in second]


def test_the_bundle_is_small_and_holds_no_pickle():
    model = {path.name for path in BUNDLED.iterdir() if path.is_file()}
    surrogate = {path.name for path in (BUNDLED / "surrogate").iterdir()}
    beside = {"phrases.npz", "casing.npz", "calibration.json"}
    assert model == {"config.json", "model.safetensors", "tokenizer.json", "README.md"} | beside
    assert surrogate == {"surrogate.json", "model.safetensors", "tokenizer.json"}
    assert (BUNDLED / "model.safetensors").stat().st_size <= 60_000_000
    assert (BUNDLED / "casing.npz").stat().st_size <= 300_000
    assert sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file()) <= 85_000_000


def test_its_phrases_tell_sentences_from_their_words_in_another_order(inverter):
    texts = ["i do not want to go there.", "she lives in a small house near the river.", "what time is it?"]
    tokenizer, vocabulary = inverter.checkpoint.tokenizer, inverter.checkpoint.vocabulary
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    entries = [vocabulary.encode(np.array(some)).tolist() for some in ids]
    right = inverter.phrases.trigram_log_probs(entries)
    wrong = inverter.phrases.trigram_log_probs([some[::-1] for some in entries])
    assert all(one > other + 10 for one, other in zip(right, wrong, strict=True))


def test_a_round_trip_by_command_line():
    ran = subprocess.run(
        [sys.executable, "-m", "unembed", "invert", SENTENCES[0], "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(ran.stdout.splitlines()[0])
    assert "tom" in json.dumps(answer).lower()


def test_evaluation_by_command_line_on_freshly_prepared_data(tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES * 1) + "\n", encoding="utf-8")
    shares = ["--validation-share", "0.0", "--test-share", "0.99"]
    data, out = tmp_path / "data", tmp_path / "evaluation"
    for arguments in (
        ["prepare", "--source", f"en={corpus}", *shares, "-o", str(data)],
        ["evaluate", "--data", str(data), "--samples", "8", "--no-floors", "--known-length", "-o", str(out)],
    ):
        assert unembed(*arguments).returncode == 0
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    figures = summary["tables"][0]["rows"][0]["figures"]
    assert figures["token_f1"]["value"] > 0.5
    assert figures["token_f1"]["n"] == 8


def test_a_model_writes_texts_as_the_data_has_them(inverter):
    """Training's own exact match compares the two: "didn ' t" would never match."""
    checkpoint = inverter.checkpoint
    text = "he didn't say anything about the money."
    ids = checkpoint.tokenizer.encode(text, add_special_tokens=False).ids
    assert checkpoint.texts([checkpoint.vocabulary.encode(np.array(ids))]) == [text]


def test_a_surrogate_guides_where_the_encoder_is_not(inverter, vectors):
    """It stands in for the encoder well enough to bring texts nearer to vectors that the encoder made."""
    plain = inverter.invert(vectors[:4])
    found = inverter.invert(vectors[:4], strategy="guided", encoder="surrogate", max_encoder_calls=60)
    near = [
        float(np.mean((inverter.encode([one.text for one in some]) * vectors[:4]).sum(axis=1)))
        for some in (plain, found)
    ]
    assert near[1] >= near[0]
    assert all(one.encoder_calls == 60 for one in found)
