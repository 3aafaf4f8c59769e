"""Statistics: fitted, written, read, cut to fewer numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unembed.identification.encoder_statistics import fit_statistics, read_statistics, write_statistics
from unembed.identification.number_format import rounding
from unembed.identification.vector_fit import vector_fit
from unembed.identification.verdict import Verdict
from unembed.identification.verdict_confidence import confidence, in_words


def made(seed: int, count: int, *, dimension: int = 160) -> np.ndarray:
    """Vectors of one imagined encoder: wide in some directions, narrow in others."""
    world = np.random.default_rng(7)
    basis = np.linalg.qr(world.normal(size=(dimension, dimension)))[0] * np.geomspace(1, 1e-3, dimension)
    drawn = np.random.default_rng(seed).normal(size=(count, dimension)) @ basis.T + 0.05
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_written_and_read_back(tmp_path: Path) -> None:
    fitted = fit_statistics("imagined", "somebody/imagined", made(0, 900))
    path = tmp_path / "statistics.safetensors"
    write_statistics(path, [fitted])
    [read] = read_statistics(path)
    assert (read.name, read.source, read.fitted_on) == ("imagined", "somebody/imagined", 900)
    assert np.allclose(read.covariance(), fitted.covariance(), atol=1e-3)


@pytest.mark.parametrize("dimension", [160, 120])
def test_own_vectors_fit_and_others_do_not(dimension: int) -> None:
    fit = vector_fit(fit_statistics("imagined", "x", made(0, 900)), dimension)
    assert fit is not None
    assert fit.tells
    assert fit.truncated_from == (None if dimension == 160 else 160)
    own = made(1, 200)[:, :dimension]
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    assert (fit.scores(own) > fit.least).mean() > 0.95
    foreign = np.random.default_rng(0).normal(size=(200, dimension))
    foreign /= np.linalg.norm(foreign, axis=1, keepdims=True)
    assert (fit.scores(foreign.astype(np.float32)) > fit.least).mean() < 0.02


def test_vectors_without_structure_tell_nothing() -> None:
    random = np.random.default_rng(0).normal(size=(4000, 160)).astype(np.float32)
    fit = vector_fit(fit_statistics("noise", "x", random), 160)
    assert fit is not None
    assert not fit.tells
    assert vector_fit(fit_statistics("noise", "x", random), 200) is None


def test_every_fetchable_encoder_has_statistics() -> None:
    from unembed.encoders.recipes import RECIPES

    shipped = {one.name.partition("#")[0] for one in read_statistics()}
    assert shipped == {"minilm", *RECIPES}


def test_rounding() -> None:
    vectors = made(0, 20)
    assert rounding(vectors) is None
    assert rounding(vectors.astype(np.float16).astype(np.float32)) == "float16"
    assert rounding((vectors.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)) == "bfloat16"
    assert rounding(np.round(vectors * 127)) == "int8"
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 127
    assert rounding((np.round(vectors / scale) * scale).astype(np.float32)) == "int8"
    assert rounding(np.sign(vectors)) == "binary"


def test_confidence_comes_from_counts() -> None:
    chance, derived = confidence(Verdict.LIKELY, rows=40, texts=False)
    assert 0.9 < chance < 1
    assert "on 32 vectors without texts" in derived
    assert confidence(Verdict.UNKNOWN, rows=40, texts=False)[0] == 0
    assert [in_words(value) for value in (0, 0.6, 0.9, 0.96, 0.995)] == [
        *("no claim", "possible", "likely", "very likely", "practically certain")
    ]
