"""The error model learns where the surrogate was wrong from the texts that were embedded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.search import error_model as module
from unembed.search.error_model import LENGTH_SCALE, NOISE, UCB_WIDTH, GPErrorModel, unit


def units(count: int, dimension: int = 6, seed: int = 0) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


def test_at_first_the_surrogate_is_taken_at_its_word() -> None:
    target, by_surrogate = units(1)[0], units(5, seed=1)
    np.testing.assert_allclose(GPErrorModel(target).predict(by_surrogate), by_surrogate @ target, atol=1e-6)


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 5))
def test_it_is_the_gaussian_process_of_its_equation(seed: int, seen: int, asked: int) -> None:
    target, by_surrogate, embedded = (
        units(1, seed=seed)[0],
        units(seen, seed=seed + 1),
        units(seen, seed=seed + 2),
    )
    new = units(asked, seed=seed + 3)
    model = GPErrorModel(target)
    model.learn(by_surrogate, embedded)

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-((a - b) ** 2).sum() / (2 * LENGTH_SCALE**2)))

    among = np.array([[kernel(a, b) for b in by_surrogate] for a in by_surrogate]) + NOISE * np.eye(seen)
    mean = (embedded - by_surrogate).mean(axis=0)
    for one, cosine in zip(new, model.predict(new), strict=True):
        near = np.array([kernel(one, other) for other in by_surrogate])
        vector = one + mean + near @ np.linalg.inv(among) @ (embedded - by_surrogate - mean)
        assert cosine == pytest.approx(vector @ target / np.linalg.norm(vector), abs=1e-4)


@given(st.integers(0, 1000), st.integers(2, 12))
def test_the_upper_confidence_bound_is_that_of_its_equation(seed: int, seen: int) -> None:
    target, by_surrogate, embedded = (
        units(1, seed=seed)[0],
        units(seen, seed=seed + 1),
        units(seen, seed=seed + 2),
    )
    new = units(3, seed=seed + 3)
    model = GPErrorModel(target)
    model.learn(by_surrogate, embedded)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / (2 * LENGTH_SCALE**2))

    inverse = np.linalg.inv(kernel(by_surrogate, by_surrogate) + NOISE * np.eye(seen))
    errors = embedded - by_surrogate - (embedded - by_surrogate).mean(axis=0)
    size = np.trace(errors.T @ inverse @ errors) / errors.size
    near = kernel(new, by_surrogate)
    doubt = np.sqrt(size * (1 - np.diag(near @ inverse @ near.T)))
    np.testing.assert_allclose(
        model.upper_confidence_bound(new), model.predict(new) + UCB_WIDTH * doubt, rtol=1e-3, atol=1e-4
    )


def test_of_two_predicted_alike_the_less_known_has_the_higher_bound() -> None:
    target = np.eye(6, dtype=np.float32)[0]
    seen, unseen = unit(np.array([[1.0, 1, 0, 0, 0, 0], [1.0, 0, 1, 0, 0, 0]]))
    model = GPErrorModel(target)
    around = unit(seen + 0.05 * units(20, seed=1))
    model.learn(around, unit(around + 0.05 * units(20, seed=2)))
    near, far = model.upper_confidence_bound(np.stack([seen, unseen])) - model.predict(
        np.stack([seen, unseen])
    )
    assert 0 < near < far / 2


def test_what_was_embedded_is_known_and_what_is_near_is_nearly_known() -> None:
    """The surrogate turns every vector the same way, and that is known at some of them."""
    turn, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))
    target = units(1)[0]
    seen = units(60, seed=1)
    near = unit(seen + 0.05 * units(60, seed=2))
    model = GPErrorModel(target)
    model.learn(seen, unit(seen @ turn))
    np.testing.assert_allclose(model.predict(seen), seen @ turn @ target, atol=0.1)
    taught = np.abs(model.predict(near) - near @ turn @ target).mean()
    untaught = np.abs(near @ target - near @ turn @ target).mean()
    assert taught < untaught / 5


def test_it_may_learn_bit_by_bit() -> None:
    target, by_surrogate, embedded = units(1)[0], units(9, seed=1), units(9, seed=2)
    at_once, by_parts = GPErrorModel(target), GPErrorModel(target)
    at_once.learn(by_surrogate, embedded)
    for first in range(0, 9, 2):
        by_parts.learn(by_surrogate[first : first + 2], embedded[first : first + 2])
        by_parts.predict(by_surrogate)
    np.testing.assert_allclose(at_once.predict(by_surrogate), by_parts.predict(by_surrogate), atol=1e-6)


def test_only_the_latest_errors_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OBSERVATIONS", 4)
    target, by_surrogate, embedded = units(1)[0], units(9, seed=1), units(9, seed=2)
    every, latest = GPErrorModel(target), GPErrorModel(target)
    every.learn(by_surrogate, embedded)
    latest.learn(by_surrogate[5:], embedded[5:])
    np.testing.assert_allclose(every.predict(by_surrogate), latest.predict(by_surrogate), atol=1e-6)
