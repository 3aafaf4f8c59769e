"""A secret order of the dimensions is no secret: from a few pairs, or from how the columns look."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unembed.defences import parse_defence
from unembed.trials.column_matching import match_by_pairs, match_by_spread, matches


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    """As encoders' are: columns with means and spreads of their own, that vary together.

    Each has a twin of the same mean and spread: those two only their correlations tell apart.
    """
    random = np.random.default_rng(0)
    drawn = random.normal(size=(3000, 8)) @ random.normal(size=(8, 24)) + 0.5 * random.normal(size=(3000, 24))
    drawn /= drawn.std(axis=0)
    scales, means = (np.tile(part, 2) for part in (random.uniform(0.2, 1, size=12), random.normal(size=12)))
    return (drawn * scales + means).astype(np.float32)


def stored(vectors: NDArray[np.float32], defence: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    made = parse_defence(defence)
    made.fit(vectors[1500:], seed=3)
    out = made.apply(vectors[1500:])
    truth = np.array([np.abs(out - column[:, None]).sum(axis=0).argmin() for column in vectors[1500:].T])
    return out, truth


def test_from_pairs_and_from_none(vectors: NDArray[np.float32]) -> None:
    out, truth = stored(vectors, "permutation")
    order, correlation = match_by_pairs(vectors[1500:1512], out[:12])
    assert (order == truth).all()
    assert correlation == pytest.approx(1.0)
    order, left = match_by_spread(vectors[:1500], out)  # other texts than the store's
    assert (order == truth).all()
    assert matches(vectors[:1500], len(out), left)


def test_a_rotation_is_not_mistaken_for_an_order(vectors: NDArray[np.float32]) -> None:
    out, _ = stored(vectors, "rotation")
    _, left = match_by_spread(vectors[:1500], out)
    assert not matches(vectors[:1500], len(out), left)
