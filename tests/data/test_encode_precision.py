"""`--precision bf16`: training vectors are rounded, those that are measured on are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toy
from unembed.compute.precision import Processor
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.data.prepared import PreparedData
from unembed.data.split import SPLITS
from unembed.encoders import load_encoder
from unembed.errors import MismatchError


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("\n".join(toy.sentences(120)) + "\n", encoding="utf-8")
    collect(CollectConfig(source=(f"en={tmp_path / 'corpus.txt'}",)), tmp_path / "texts")
    return tmp_path / "texts"


def settings(precision: str) -> EncodeConfig:
    return EncodeConfig(validation_share=0.2, test_share=0.2, precision=precision)  # type: ignore[arg-type]


def test_held_out_vectors_are_exact_and_training_vectors_nearly(texts: Path, tmp_path: Path) -> None:
    encoder = load_encoder("minilm")
    exact, rough = (
        encode(settings(precision), texts, tmp_path / precision, encoder=encoder)
        for precision in ("fp32", "bf16")
    )
    assert (exact.manifest.precision, rough.manifest.precision) == ("fp32", "bf16")
    for name in SPLITS:
        one, other = (_all_vectors(data, name) for data in (exact, rough))
        if name != "train" or not Processor.here().bf16:
            assert np.array_equal(one, other)
            continue
        assert not np.array_equal(one, other)
        assert (one * other).sum(axis=1).min() > 0.9998


def test_a_folder_keeps_its_precision(texts: Path, tmp_path: Path, toy_encoder: toy.ToyEncoder) -> None:
    encode(settings("fp32"), texts, tmp_path / "out", encoder=toy_encoder)
    with pytest.raises(MismatchError):
        encode(settings("bf16"), texts, tmp_path / "out", encoder=toy_encoder)


def _all_vectors(data: PreparedData, name: str) -> np.ndarray:
    side = data.split(name)  # type: ignore[arg-type]
    assert len(side)
    return side.vectors(np.arange(len(side)))
