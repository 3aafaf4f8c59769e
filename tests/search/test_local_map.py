"""The refitted map against what it is fitted to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unembed.search.error_model import unit
from unembed.search.local_map import ENERGY, LEAST, MOST, LocalMap

D, NATIVE = 12, 8


def problem(seed: int, count: int = 60) -> tuple[np.ndarray, np.ndarray, torch.Tensor, torch.Tensor]:
    """A target, texts' vectors around it, the base's true map, and the adapter's wrong one."""
    rng = np.random.default_rng(seed)
    target = unit(rng.normal(size=(1, D)))[0]
    vectors = unit(target + 0.5 * rng.normal(size=(count, D)))
    true, wrong = (torch.from_numpy(rng.normal(size=(D, NATIVE)).astype(np.float32)) for _ in range(2))
    return target, vectors, true, wrong


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@given(seed=st.integers(0, 50))
def test_what_the_search_embeds_puts_the_map_right(seed):
    target, vectors, true, wrong = problem(seed)
    found = LocalMap(target, lambda e: e @ wrong)
    before = found(target[None])[0]
    found.learn(vectors, torch.from_numpy(vectors) @ true)
    after, right = found(target[None])[0], target @ true.numpy()
    assert cosine(after, right) > 0.99 >= cosine(before, right)
    # Nothing but the texts nearest to the target is kept, and the order of learning does not matter.
    other = LocalMap(target, lambda e: e @ wrong)
    for part in np.array_split(np.arange(len(vectors))[::-1], 3):
        other.learn(vectors[part], torch.from_numpy(vectors[part]) @ true)
    assert np.allclose(other(target[None]), found(target[None]), atol=1e-3)


def test_a_near_text_counts_more_than_a_far_one():
    target, vectors, _, wrong = problem(1)
    distance = np.linalg.norm(vectors - target, axis=1)
    near = torch.from_numpy(distance < np.median(distance))[:, None]
    standard = torch.where(near, 10.0, -10.0) + torch.zeros(len(vectors), NATIVE)
    found = LocalMap(target, lambda e: 0 * (e @ wrong))
    found.learn(vectors, standard)
    assert (found(target[None]) > 5).all()


def test_until_it_knows_a_few_texts_it_is_the_adapters_map():
    target, vectors, true, wrong = problem(2)
    found = LocalMap(target, lambda e: e @ wrong, lambda e: e @ wrong / 3)
    found.learn(vectors[: LEAST - 1], torch.from_numpy(vectors[: LEAST - 1]) @ true)
    assert np.allclose(found(vectors), vectors @ wrong.numpy())


def test_what_it_cannot_tell_is_not_said_in_a_low_voice():
    """Errors that follow nothing: the regression gives their mean, and the blocks must not read that."""
    target, vectors, _, wrong = problem(3)
    standard = torch.from_numpy(np.random.default_rng(3).normal(size=(60, NATIVE)).astype(np.float32))
    found = LocalMap(target, lambda e: 0 * (e @ wrong))
    found.learn(vectors, standard)
    energy = float(np.square(found(target[None])).sum())
    assert energy >= ENERGY * float(standard.square().sum(dim=1).mean()) * 0.999


def test_it_keeps_the_nearest_texts():
    target, vectors, true, wrong = problem(4, count=MOST + 50)
    found = LocalMap(target, lambda e: e @ wrong)
    found.learn(vectors, torch.from_numpy(vectors) @ true)
    assert len(found) == MOST
    assert found._vectors @ torch.from_numpy(target) == pytest.approx(
        np.sort(vectors @ target)[::-1][:MOST], abs=1e-5
    )
