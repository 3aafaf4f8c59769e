"""The model's own vectors pass without a complaint; those of another space do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
import toy
from unembed.encoders import load_encoder
from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint
from unembed.vectors.plausibility import PlausibilityCheck, check_numbers, unusable

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def real() -> np.ndarray:
    """The bundled encoder on sentences that a model might be trained on."""
    return load_encoder().encode(toy.sentences(900))


@pytest.fixture(scope="module")
def model(real: np.ndarray) -> Checkpoint:
    encoder = load_encoder()
    return tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=real[:800])


def told(model: Checkpoint, vectors: np.ndarray) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who shows the complaint decides how
        complaint = PlausibilityCheck(model)(np.ascontiguousarray(vectors, dtype=np.float32))
    assert complaint is None or "may be fluent and wrong" in complaint
    return complaint is not None


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_the_encoder_s_own_vectors_pass(model: Checkpoint, real: np.ndarray) -> None:
    assert not told(model, real[800:])
    assert not told(model, real[:800])


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_random_directions_are_told(model: Checkpoint, seed: int) -> None:
    assert told(model, unit(np.random.default_rng(seed).normal(size=(40, 384))))


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_shuffled_dimensions_are_told(model: Checkpoint, real: np.ndarray, seed: int) -> None:
    assert told(model, real[800:, np.random.default_rng(seed).permutation(384)])


@given(st.floats(0.01, 100.0))
@settings(max_examples=30)
def test_another_norm_is_told_unless_it_is_the_same(
    model: Checkpoint, real: np.ndarray, scale: float
) -> None:
    if abs(scale - 1) > 0.05:
        assert told(model, real[800:] * scale)


def test_a_few_odd_vectors_among_many_are_no_reason_to_warn(model: Checkpoint, real: np.ndarray) -> None:
    mixed = real[800:].copy()
    mixed[:10] = unit(RNG.normal(size=(10, 384)))
    assert not told(model, mixed)


def test_it_complains_once(model: Checkpoint) -> None:
    check = PlausibilityCheck(model)
    odd = unit(RNG.normal(size=(40, 384))).astype(np.float32)
    assert check(odd[:0]) is None
    assert check(odd) is not None
    assert check(odd) is None


@given(
    st.integers(0, 39), st.integers(0, 383), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 99)
)
@settings(max_examples=30)
def test_a_bad_number_is_found_wherever_it_is(row: int, column: int, value: float, first: int) -> None:
    vectors = np.zeros((40, 384), dtype=np.float32)
    check_numbers(vectors, 384)
    vectors[row, column] = value
    assert [number for number, reason in enumerate(unusable(vectors)) if reason] == [row]
    with pytest.raises(DataError, match=f"Vector {first + row} holds NaN or infinity"):
        check_numbers(vectors, 384, first=first)
