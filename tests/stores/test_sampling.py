"""The sample: by seed and ids alone, uniform, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.errors import DataError, UsageError
from unembed.stores.base import Row, StoreInfo, VectorField
from unembed.stores.sampling import sample_rows


class Listed:
    """Rows in memory, in pages of any size."""

    def __init__(self, rows: list[Row], page: int = 7) -> None:
        self.rows, self.page = rows, page

    def describe(self) -> StoreInfo:
        return StoreInfo(
            "listed", "listed:", None, len(self.rows), VectorField("", 3, "float32"), (), None, ()
        )

    def count(self) -> int:
        return len(self.rows)

    def scroll(self, batch: int = 1024) -> Iterator[list[Row]]:
        for start in range(0, len(self.rows), self.page):
            yield self.rows[start : start + self.page]

    def close(self) -> None:
        pass


def _rows(count: int) -> list[Row]:
    vectors = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    return [Row(f"row-{number}", vector, None) for number, vector in enumerate(vectors)]


def _ids(rows: list[Row]) -> list[str]:
    return [row.id for row in rows]


@given(st.permutations(range(60)), st.integers(1, 70), st.integers(1, 80), st.integers(0, 5))
def test_neither_pages_nor_order_matter(order: list[int], page: int, n: int, seed: int) -> None:
    rows = _rows(60)
    straight = sample_rows(Listed(rows), n, seed)
    assert _ids(straight) == _ids(sample_rows(Listed([rows[number] for number in order], page), n, seed))
    assert len(straight) == min(n, 60)


def test_a_larger_sample_begins_with_the_smaller_one_and_another_seed_draws_others() -> None:
    rows = Listed(_rows(500))
    small, large = sample_rows(rows, 20, 3), sample_rows(rows, 50, 3)
    assert _ids(large)[:20] == _ids(small)
    assert set(_ids(sample_rows(rows, 20, 4))) != set(_ids(small))


def test_every_row_is_as_likely_as_every_other() -> None:
    rows = _rows(10)
    drawn = [name for seed in range(2000) for name in _ids(sample_rows(Listed(rows), 2, seed))]
    counts = [drawn.count(row.id) for row in rows]  # 400 each; four standard deviations are 72
    assert all(abs(count - 400) < 72 for count in counts)


def test_rows_that_share_an_id_are_kept_and_a_row_that_comes_twice_counts_once() -> None:
    rows = _rows(5)
    same = [Row("same", row.vector, None) for row in rows]
    assert len(sample_rows(Listed(same), 10, 0)) == 5
    forward, backward = sample_rows(Listed(same), 2, 0), sample_rows(Listed(same[::-1]), 2, 0)
    assert [row.vector.tolist() for row in forward] == [row.vector.tolist() for row in backward]
    assert len(sample_rows(Listed(rows + rows), 10, 0)) == 5


def test_a_kept_vector_does_not_keep_its_page() -> None:
    page = np.zeros((1000, 3), np.float32)
    found = sample_rows(Listed([Row(str(row), page[row], None) for row in range(1000)]), 3, 0)
    assert all(row.vector.base is None for row in found)


def test_progress_is_told_every_row() -> None:
    class Counting:
        rows = 0

        def advance(self, amount: int = 1) -> None:
            self.rows += amount

        def describe(self, text: str) -> None:
            pass

    progress = Counting()
    sample_rows(Listed(_rows(50)), 3, 0, progress=progress)
    assert progress.rows == 50


def test_nothing_to_sample_is_said() -> None:
    with pytest.raises(DataError, match="holds no vectors"):
        sample_rows(Listed([]), 3, 0)
    with pytest.raises(UsageError, match="at least one"):
        sample_rows(Listed(_rows(3)), 0, 0)
