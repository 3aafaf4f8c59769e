"""The floors know nothing of the vector, or nothing but the vector."""

from __future__ import annotations

import numpy as np
import pytest

from unembed.data.prepared import PreparedData
from unembed.evaluation.floors import derangement, nearest_texts, random_tokens
from unembed.model.vocabulary import Vocabulary
from unembed.progress import SilentProgress


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_nobody_keeps_their_own_vector(n: int) -> None:
    other = derangement(n, seed=1)
    assert sorted(other.tolist()) == list(range(n))
    assert (other != np.arange(n)).all()
    np.testing.assert_array_equal(other, derangement(n, seed=1))


def test_one_text_has_no_other() -> None:
    with pytest.raises(ValueError, match="single text"):
        derangement(1, seed=0)


def test_random_tokens_are_uniform_over_the_words() -> None:
    vocabulary = Vocabulary(np.array([3, 5, 8, -1, -2, -3], dtype=np.int32))  # with end and padding
    numbers = np.arange(600)
    drawn = random_tokens(vocabulary, np.full(600, 10), numbers, seed=0)
    assert {len(row) for row in drawn} == {10}
    counts = np.bincount(np.concatenate(drawn), minlength=9)
    assert counts[[3, 5, 8]].sum() == 6000
    np.testing.assert_allclose(counts[[3, 5, 8]], 2000, atol=200)
    # A sample's tokens are its own, in any company.
    assert random_tokens(vocabulary, np.array([10]), numbers[7:8], seed=0)[0] == drawn[7]


def test_nearest_is_the_brute_force_one(prepared: PreparedData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unembed.evaluation.floors._CHUNK", 7)  # many chunks, a ragged last one
    train, test = prepared.split("train"), prepared.split("test")
    queries = 3.0 * test.vectors(range(len(test)))  # the length of a vector does not matter
    every = train.vectors(range(len(train)))
    similarity = queries @ (every / np.linalg.norm(every, axis=1, keepdims=True)).T
    found = nearest_texts(queries, train, limit=10**6)
    best = similarity.max(axis=1)
    np.testing.assert_allclose(similarity[np.arange(len(found)), found], best, rtol=1e-5)


def test_nearest_keeps_to_its_limit(prepared: PreparedData) -> None:
    train, test = prepared.split("train"), prepared.split("test")
    assert nearest_texts(test.vectors(range(len(test))), train, limit=5).max() < 5


def test_the_scan_says_how_far_it_is(prepared: PreparedData, monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(SilentProgress):
        def __init__(self) -> None:
            self.texts: list[str] = []

        def describe(self, text: str) -> None:
            self.texts.append(text)

    monkeypatch.setattr("unembed.evaluation.floors._CHUNK", 7)
    train, test, told = prepared.split("train"), prepared.split("test"), Told()
    nearest_texts(test.vectors(range(3)), train, limit=17, progress=told)
    assert told.texts == [f"nearest: {done} of 17 training texts compared" for done in (7, 14, 17)]
