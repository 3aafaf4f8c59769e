"""Flat batches hold every text once, in full, within the limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.encoders.batching import flat_batches, pick_device
from unembed.errors import UsageError


@given(
    lengths=st.lists(st.integers(1, 40), max_size=60),
    batch_tokens=st.integers(1, 100),
)
def test_every_text_once_and_whole(lengths: list[int], batch_tokens: int) -> None:
    ids = [[row * 100 + place for place in range(length)] for row, length in enumerate(lengths)]
    seen: list[int] = []
    for batch in flat_batches(ids, batch_tokens):
        assert len(batch.ids) <= batch_tokens or len(batch.rows) == 1
        assert sum(run.texts * run.length for run in batch.runs) == len(batch.ids)
        assert sum(run.texts for run in batch.runs) == len(batch.rows)
        pieces = np.split(
            batch.ids, np.cumsum([run.length for run in batch.runs for _ in range(run.texts)])[:-1]
        )
        for row, piece in zip(batch.rows, pieces, strict=True):
            assert piece.tolist() == ids[row]
        seen += batch.rows.tolist()
    assert sorted(seen) == list(range(len(ids)))


def test_no_texts_no_batches() -> None:
    assert list(flat_batches([], 10)) == []


def test_a_device_that_is_not_there_is_named() -> None:
    assert pick_device("cpu") == "cpu"
    with pytest.raises(UsageError, match="warpdrive"):
        pick_device("warpdrive")
