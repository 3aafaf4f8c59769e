"""`unembed identify`, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from typed import unembed
from unembed.encoders import load_encoder

TEXTS = [
    "The invoice from last month has not been paid.",
    "How do I reset the password of my router?",
    "Two goals in the last minute decided the match.",
    "Please remind me to call the dentist tomorrow.",
    "The volcano has been silent for four hundred years.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    vectors = load_encoder("minilm", device="cpu").encode(TEXTS)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "random.npy", np.random.default_rng(0).normal(size=(9, 384)).astype(np.float32))
    lines = [
        json.dumps({"text": text, "embedding": vector.tolist()})
        for text, vector in zip(TEXTS, vectors, strict=True)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_a_file_with_texts(folder: Path) -> None:
    ran = unembed("identify", folder / "pairs.jsonl", "--encoder", "minilm")
    assert ran.returncode == 0
    assert ran.stdout.startswith("Identified: minilm (100% of the vectors).\nConfidence 0.9")
    assert "5 of 5 texts give their vectors again" in ran.stdout


def test_json(folder: Path) -> None:
    ran = unembed("identify", folder / "vectors.npy", "--json")
    found = json.loads(ran.stdout)
    assert (found["verdict"], found["encoder"], found["dimension"], found["compared"]) == (
        "likely",
        "minilm",
        384,
        0,
    )
    assert {"dimension", "norms", "statistics"} <= {one["name"] for one in found["evidence"]}


def test_nothing_is_claimed_of_random_vectors(folder: Path) -> None:
    ran = unembed("identify", folder / "random.npy")
    assert ran.returncode == 0
    assert ran.stdout.startswith("Unknown: ")
    assert "Confidence" not in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("none.npy",), "There is no file none.npy", 2),
        (("vectors.npy", "--samples", 0), "samples", 2),
        (("pairs.jsonl", "--encoder", "nothing-like-it"), "There is no encoder", 2),
        (("pairs.jsonl", "--text-field", "missing"), "missing", 2),
    ],
)
def test_wrong_input_is_one_line(folder: Path, monkeypatch, arguments, message: str, code: int) -> None:
    monkeypatch.chdir(folder)
    ran = unembed("identify", *arguments)
    assert ran.returncode == code
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
