"""Edits: each changes a text, stays in bounds and repeats with its generator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.search.edits import EDITS, MASK, move, moves


@pytest.mark.parametrize("name", list(EDITS))
@given(text=st.lists(st.integers(0, 50), min_size=1, max_size=12).map(tuple), seed=st.integers(0, 2**32 - 1))
def test_an_edit(name: str, text: tuple[int, ...], seed: int) -> None:
    edited = EDITS[name][1](text, np.random.default_rng(seed))
    assert edited == EDITS[name][1](text, np.random.default_rng(seed))
    assert 1 <= len(edited) <= len(text) + 2
    kept = [entry for entry in edited if entry != MASK]
    assert set(kept) <= set(text)
    if len(set(text)) == len(text):
        assert edited != text


@given(text=st.lists(st.integers(0, 50), min_size=1, max_size=9).map(tuple), seed=st.integers(0, 2**32 - 1))
def test_all_moves(text: tuple[int, ...], seed: int) -> None:
    """The same words in another order, each order once; what `move` does to a few words is among them."""
    every = moves(text)
    assert len(set(every)) == len(every)
    assert text not in every
    assert all(sorted(one) == sorted(text) for one in every)
    if len(text) >= 2:
        moved = move(text, np.random.default_rng(seed))
        assert moved == text or moved in every
