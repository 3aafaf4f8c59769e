"""Everything that changes a result changes the identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import tiny
import toy
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.vectors.identity import result_identity


@pytest.fixture
def folder(tmp_path: Path, toy_tokenizer: Tokenizer, toy_encoder: toy.ToyEncoder) -> Path:
    tiny.checkpoint(toy_tokenizer, toy_encoder.info).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def identity(folder: Path, guide: Any = None) -> dict[str, Any]:
    return result_identity(Checkpoint.from_pretrained(str(folder)), guide)


def test_a_guided_run_depends_on_phrases_and_surrogate(folder: Path, toy_encoder: toy.ToyEncoder) -> None:
    seen = [identity(folder, toy_encoder)]
    (folder / "phrases.npz").write_bytes(b"one")
    seen.append(identity(folder, toy_encoder))
    (folder / "phrases.npz").write_bytes(b"two")
    seen.append(identity(folder, toy_encoder))
    (folder / "surrogate").mkdir()
    (folder / "surrogate" / "surrogate.json").write_text("{}")
    (folder / "surrogate" / "model.safetensors").write_bytes(b"one")
    seen.append(identity(folder, toy_encoder))
    (folder / "surrogate" / "model.safetensors").write_bytes(b"two")
    seen.append(identity(folder, toy_encoder))
    assert all(one != other for i, one in enumerate(seen) for other in seen[:i])
    assert identity(folder, toy_encoder) == seen[-1]


def test_it_depends_on_the_guides_weights(folder: Path, toy_encoder: toy.ToyEncoder) -> None:
    other = toy.ToyEncoder(name="other", tokenizer=toy_encoder.tokenizer())
    assert identity(folder, toy_encoder) != identity(folder, other)


def test_a_plain_run_depends_on_the_model_alone(
    folder: Path, toy_tokenizer: Tokenizer, toy_encoder: toy.ToyEncoder
) -> None:
    before = identity(folder)
    checkpoint = Checkpoint.from_pretrained(str(folder))
    checkpoint.add_phrases(Phrases.count([[0, 1, 2]] * 3, checkpoint.vocabulary))  # config.json lists them
    assert identity(folder) == before
    other = tiny.checkpoint(toy_tokenizer, toy_encoder.info, max_length=9)
    other.save_pretrained(folder.with_name("other"))
    assert identity(folder.with_name("other")) != before
