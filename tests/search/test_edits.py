"""Edits: each changes a text, stays in bounds and repeats with its generator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.search.edits import EDITS, MASK


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
