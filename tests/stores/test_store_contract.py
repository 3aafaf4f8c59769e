"""What every store must do, on real ones: every row once, the same sample everywhere, nothing changed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from every_store import Stores
from file_state import state_of
from filled import TEXTS, WIDTH, Filled
from servers import PASSWORD

from unembed.errors import DataError, UnembedError, UsageError
from unembed.stores.base import Row, Store
from unembed.stores.registry import open_store
from unembed.stores.sampling import sample_rows

CASES = (
    "npy", "npz", "safetensors", "jsonl", "parquet", "faiss", "qdrant", "qdrant_server", "chroma",
    "chroma_server", "lancedb", "pgvector", "milvus", "milvus_server", "sqlite_vec", "duckdb", "redis",
    "elasticsearch", "opensearch",
)  # fmt: skip


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, stores: Stores) -> Filled:
    return stores(request.param)


@pytest.fixture
def store(case: Filled) -> Iterator[Store]:
    with closing(open_store(case.address, vector=case.vector)) as opened:
        yield opened


def _open(case: Filled, address: str | None = None, **wanted: Any) -> Store:
    return open_store(address or case.address, **{"vector": case.vector, **wanted})


@pytest.mark.parametrize("batch", [7, 64, 1000])
def test_every_row_comes_once_with_its_vector_and_text(store: Store, case: Filled, batch: int) -> None:
    pages = list(store.scroll(batch))
    assert all(0 < len(page) <= batch for page in pages)
    rows = {row.id: row for page in pages for row in page}
    assert sum(len(page) for page in pages) == len(rows)
    assert sorted(rows) == sorted(case.ids)
    found = np.stack([rows[one].vector for one in case.ids])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, case.vectors, atol=case.tolerance, rtol=case.tolerance)
    expected = TEXTS if case.text_field else [None] * len(TEXTS)
    assert [rows[one].text for one in case.ids] == expected
    assert all(not row.extra for row in rows.values())


def test_it_says_what_it_holds_and_no_more(store: Store, case: Filled) -> None:
    info = store.describe()
    assert (info.kind, info.address, info.collection) == (case.kind, case.address, case.collection)
    assert info.vector.name == case.vector_name
    assert info.vector in info.vectors
    assert info.vector.dimension == WIDTH
    assert (info.vector.dtype, info.vector.metric) == (case.dtype, case.metric)
    assert info.text_field == case.text_field
    assert case.text_field is None or case.text_field in info.text_fields
    assert info.count == store.count()
    assert (info.count is not None) == case.counted
    assert info.count is None or info.count - len(case.ids) in (0, 1)  # one may have no vector
    assert PASSWORD not in json.dumps(dataclasses.asdict(info))


def test_a_sample_is_the_same_in_every_store(store: Store, case: Filled) -> None:
    drawn = sample_rows(store, 30, seed=11)
    numbers = [case.ids.index(row.id) for row in drawn]
    assert len(set(numbers)) == 30
    if case.kind != "redis":  # whose keys have a prefix
        assert numbers[:4] == [58, 5, 50, 169]
    assert [row.id for row in sample_rows(_Paged(store, 13), 30, seed=11)] == [row.id for row in drawn]


class _Paged:
    """The same store in other pages."""

    def __init__(self, store: Store, batch: int) -> None:
        self._store, self._batch = store, batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def scroll(self, batch: int = 0) -> Iterator[list[Row]]:
        return self._store.scroll(self._batch)


def test_nothing_changes(case: Filled) -> None:
    case.fingerprint()  # servers count commands: what earlier tests sent is not meant
    files, content = state_of(case.files), case.fingerprint()
    with closing(_open(case)) as store:
        store.describe()
        assert len(sample_rows(store, 5, 0)) == 5
        next(iter(store.scroll(3)))  # begun and left
        if case.files is not None:
            assert state_of(case.files) == files
    assert state_of(case.files) == files
    assert case.fingerprint() == content


def test_it_can_be_read_again_and_twice_at_once(store: Store, case: Filled) -> None:
    first, second = store.scroll(50), store.scroll(70)
    pages = [next(first), next(second), next(first), *first, *second]
    assert sum(len(page) for page in pages) == 2 * len(case.ids)


def test_an_unknown_vector_is_answered_with_those_that_there_are(case: Filled) -> None:
    with pytest.raises(UsageError, match="has no vector 'nonsense'") as error:
        open_store(case.address.split("&")[0], vector="nonsense")
    assert (case.vector_name or "(unnamed)") in str(error.value.hint)


def test_an_unknown_text_field_is_answered_with_those_that_there_are(case: Filled) -> None:
    with pytest.raises(UsageError, match="has no text field 'nonsense'") as error:
        _open(case, text_field="nonsense")
    assert (case.text_field or "no text fields at all") in str(error.value.hint)


def test_an_unknown_collection_is_answered_with_those_that_there_are(case: Filled) -> None:
    if case.elsewhere is None:
        pytest.skip("a file is one collection")
    with pytest.raises(UsageError) as error:
        _open(case, case.elsewhere)
    assert "nots" in error.value.message
    assert "notes" in str(error.value.hint)


def test_an_empty_collection_is_said_to_be_empty(case: Filled) -> None:
    if case.empty is None:
        pytest.skip("what is empty here is no store at all")
    with closing(_open(case, case.empty)) as store:
        assert list(store.scroll()) == []
        assert store.count() == 0
        with pytest.raises(DataError, match="holds no vectors"):
            sample_rows(store, 5, 0)


def test_a_path_that_is_not_there_is_one_line(case: Filled) -> None:
    if case.files is None:
        pytest.skip("a server has no path")
    scheme, _, rest = case.address.rpartition(":")
    collection = rest.rpartition("#")[2] if "#" in rest else ""
    address = f"{scheme}:/nowhere/at/all#{collection}" if scheme else "/nowhere/at/all.npy"
    with pytest.raises(UnembedError) as error:
        open_store(address)
    assert "/nowhere/at/all" in error.value.message
    assert error.value.hint
