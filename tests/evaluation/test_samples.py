"""Which texts are attacked, and with what noise."""

from __future__ import annotations

import numpy as np
import pytest

import toy
from unembed.data.prepared import PreparedData
from unembed.errors import DataError
from unembed.evaluation.samples import add_noise, draw_samples


def draw(prepared: PreparedData, count: int = 20, seed: int = 0):  # type: ignore[no-untyped-def]
    return draw_samples(prepared, "test", count, seed=seed, tokenizer=prepared.tokenizer())


def test_the_same_seed_draws_the_same_texts(prepared: PreparedData) -> None:
    one, two, other = draw(prepared), draw(prepared), draw(prepared, seed=1)
    assert one.texts == two.texts
    assert one.texts != other.texts
    assert len(set(one.numbers.tolist())) == len(one) == 20


def test_more_than_there_are_is_all(prepared: PreparedData) -> None:
    assert len(draw(prepared, count=10**6)) == len(prepared.split("test"))


def test_tokens_are_those_of_the_texts(prepared: PreparedData) -> None:
    samples = draw(prepared)
    for text, ids in zip(samples.texts, samples.tokens, strict=True):
        assert prepared.tokenizer().encode(text, add_special_tokens=False).ids == ids
    assert samples.lengths.tolist() == [len(ids) for ids in samples.tokens]


def test_another_tokenizer_gives_its_own_tokens(prepared: PreparedData) -> None:
    tokenizer = toy.byte_bpe()
    samples = draw_samples(prepared, "test", 5, seed=0, tokenizer=tokenizer)
    for text, ids in zip(samples.texts, samples.tokens, strict=True):
        assert tokenizer.encode(text).ids == ids


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_noise_is_relative_to_the_vector(prepared: PreparedData, sigma: float, normalised: bool) -> None:
    samples = draw(prepared, count=80)
    noisy = add_noise(samples, sigma, seed=0, normalised=normalised)
    norms = np.linalg.norm(samples.vectors, axis=1)
    if normalised:
        np.testing.assert_allclose(np.linalg.norm(noisy, axis=1), norms, rtol=1e-5)
    else:
        added = np.linalg.norm(noisy - samples.vectors, axis=1) / norms
        assert np.sqrt((added**2).mean()) == pytest.approx(sigma, rel=0.1)
    np.testing.assert_array_equal(noisy, add_noise(samples, sigma, seed=0, normalised=normalised))


def test_no_noise_is_the_vector_itself(prepared: PreparedData) -> None:
    samples = draw(prepared)
    np.testing.assert_array_equal(add_noise(samples, 0.0, seed=0, normalised=True), samples.vectors)


def test_noise_keeps_its_direction(prepared: PreparedData) -> None:
    samples = draw(prepared)
    small = add_noise(samples, 0.1, seed=0, normalised=False) - samples.vectors
    large = add_noise(samples, 0.5, seed=0, normalised=False) - samples.vectors
    np.testing.assert_allclose(large, 5 * small, atol=1e-5)


def test_texts_can_be_chosen_by_length(prepared: PreparedData) -> None:
    side = prepared.split("train")
    low, high = sorted(set(side.lengths.tolist()))[1:3]
    samples = draw_samples(
        prepared, "train", 10**6, seed=0, tokenizer=prepared.tokenizer(), min_tokens=low, max_tokens=high
    )
    assert sorted(samples.lengths.tolist()) == sorted(
        length for length in side.lengths.tolist() if low <= length <= high
    )
    with pytest.raises(DataError, match="no text"):
        draw_samples(
            prepared, "train", 5, seed=0, tokenizer=prepared.tokenizer(), min_tokens=900, max_tokens=901
        )
