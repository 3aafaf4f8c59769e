"""A scout learns its own errors from the texts that were embedded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy
from unembed.search import error_model as module
from unembed.search.error_model import CURIOSITY, NOISE, REACH, Beliefs, Scout, unit


def units(count: int, dimension: int = 6, seed: int = 0) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


def test_at_first_it_is_taken_at_its_word() -> None:
    target, scouted = units(1)[0], units(5, seed=1)
    np.testing.assert_allclose(Beliefs(target).foretold(scouted), scouted @ target, atol=1e-6)


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 5))
def test_it_is_the_gaussian_process_of_its_equation(seed: int, seen: int, asked: int) -> None:
    target, scouted, embedded = units(1, seed=seed)[0], units(seen, seed=seed + 1), units(seen, seed=seed + 2)
    new = units(asked, seed=seed + 3)
    beliefs = Beliefs(target)
    beliefs.learn(scouted, embedded)

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-((a - b) ** 2).sum() / (2 * REACH**2)))

    among = np.array([[kernel(a, b) for b in scouted] for a in scouted]) + NOISE * np.eye(seen)
    mean = (embedded - scouted).mean(axis=0)
    for one, cosine in zip(new, beliefs.foretold(new), strict=True):
        near = np.array([kernel(one, other) for other in scouted])
        vector = one + mean + near @ np.linalg.inv(among) @ (embedded - scouted - mean)
        assert cosine == pytest.approx(vector @ target / np.linalg.norm(vector), abs=1e-4)


@given(st.integers(0, 1000), st.integers(2, 12))
def test_the_promise_is_the_upper_confidence_bound_of_its_equation(seed: int, seen: int) -> None:
    target, scouted, embedded = units(1, seed=seed)[0], units(seen, seed=seed + 1), units(seen, seed=seed + 2)
    new = units(3, seed=seed + 3)
    beliefs = Beliefs(target)
    beliefs.learn(scouted, embedded)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / (2 * REACH**2))

    inverse = np.linalg.inv(kernel(scouted, scouted) + NOISE * np.eye(seen))
    errors = embedded - scouted - (embedded - scouted).mean(axis=0)
    size = np.trace(errors.T @ inverse @ errors) / errors.size
    near = kernel(new, scouted)
    doubt = np.sqrt(size * (1 - np.diag(near @ inverse @ near.T)))
    np.testing.assert_allclose(
        beliefs.promise(new), beliefs.foretold(new) + CURIOSITY * doubt, rtol=1e-3, atol=1e-4
    )


def test_of_two_that_are_foretold_alike_the_less_known_promises_more() -> None:
    target = np.eye(6, dtype=np.float32)[0]
    seen, unseen = unit(np.array([[1.0, 1, 0, 0, 0, 0], [1.0, 0, 1, 0, 0, 0]]))
    beliefs = Beliefs(target)
    around = unit(seen + 0.05 * units(20, seed=1))
    beliefs.learn(around, unit(around + 0.05 * units(20, seed=2)))
    near, far = beliefs.promise(np.stack([seen, unseen])) - beliefs.foretold(np.stack([seen, unseen]))
    assert 0 < near < far / 2


def test_what_was_embedded_is_known_and_what_is_near_is_nearly_known() -> None:
    """The scout turns every vector the same way, and is told so at some of them."""
    turn, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))
    target = units(1)[0]
    seen = units(60, seed=1)
    near = unit(seen + 0.05 * units(60, seed=2))
    beliefs = Beliefs(target)
    beliefs.learn(seen, unit(seen @ turn))
    np.testing.assert_allclose(beliefs.foretold(seen), seen @ turn @ target, atol=0.1)
    taught = np.abs(beliefs.foretold(near) - near @ turn @ target).mean()
    untaught = np.abs(near @ target - near @ turn @ target).mean()
    assert taught < untaught / 5


def test_it_may_learn_bit_by_bit() -> None:
    target, scouted, embedded = units(1)[0], units(9, seed=1), units(9, seed=2)
    at_once, by_parts = Beliefs(target), Beliefs(target)
    at_once.learn(scouted, embedded)
    for first in range(0, 9, 2):
        by_parts.learn(scouted[first : first + 2], embedded[first : first + 2])
        by_parts.foretold(scouted)
    np.testing.assert_allclose(at_once.foretold(scouted), by_parts.foretold(scouted), atol=1e-6)


def test_only_the_latest_errors_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 4)
    target, scouted, embedded = units(1)[0], units(9, seed=1), units(9, seed=2)
    every, latest = Beliefs(target), Beliefs(target)
    every.learn(scouted, embedded)
    latest.learn(scouted[5:], embedded[5:])
    np.testing.assert_allclose(every.foretold(scouted), latest.foretold(scouted), atol=1e-6)


def test_each_hunt_gets_the_vectors_of_its_own_texts() -> None:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    one, two, three = toy.sentences(3)
    looks = Scout(encoder).look([[one, two], [], [two, three]])
    wanted = [[one, two], [], [two, three]]
    for look, texts in zip(looks, wanted, strict=True):
        assert len(look) == len(texts)
        if texts:
            np.testing.assert_allclose(look, unit(encoder.encode(texts)), atol=1e-6)
    assert [look.shape for look in Scout(encoder).look([[], []])] == [(0, encoder.info.dimension)] * 2
