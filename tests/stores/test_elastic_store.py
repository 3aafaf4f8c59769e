"""What only Elasticsearch and OpenSearch have: scrolls, mappings, keys, hidden vectors."""

from __future__ import annotations

from contextlib import closing

import pytest
from elastic_over_http import ElasticOverHttp
from filled import COUNT
from servers import PASSWORD

from unembed.errors import UnavailableError, UsageError
from unembed.stores import connection
from unembed.stores.elastic_mapping import fields_of
from unembed.stores.registry import open_store


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PAUSE", 0.01)


@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
def test_an_alias_and_a_scroll_that_is_given_back(kind: str) -> None:
    with ElasticOverHttp(opensearch=kind == "opensearch").running() as server:
        with closing(open_store(f"{kind}://127.0.0.1:{server.port}#current")) as store:
            pages = store.scroll(50)
            next(pages)
            server.troubles = [503, 429]  # it fails now and then
            assert sum(len(page) for page in pages) == COUNT - 50
            info = store.describe()
        assert server.scrolls == {}
    assert info.metadata == {"model": "minilm"}
    assert info.text_fields == ("text", "meta.title")
    assert [one.obstacle for one in info.vectors] == [None, "several vectors a row"]


def test_a_scroll_that_the_server_has_lost() -> None:
    with (
        ElasticOverHttp().running() as server,
        closing(open_store(f"elasticsearch://127.0.0.1:{server.port}#notes")) as store,
    ):
        pages = store.scroll(50)
        next(pages)
        server.scrolls.clear()
        with pytest.raises(UnavailableError, match="stopped answering after 50 rows"):
            next(pages)


def test_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELASTIC_API_KEY", raising=False)
    with ElasticOverHttp(key=PASSWORD).running() as server:
        address = f"elasticsearch://127.0.0.1:{server.port}#notes"
        with pytest.raises(UnavailableError, match="missing credentials") as error:
            open_store(address)
        assert "ELASTIC_API_KEY" in str(error.value.hint)
        monkeypatch.setenv("ELASTIC_API_KEY", PASSWORD)
        with closing(open_store(address)) as store:
            assert store.count() == COUNT
            assert PASSWORD not in repr(store.describe())


def test_no_index_named() -> None:
    with ElasticOverHttp().running() as server:
        with pytest.raises(UsageError, match="2 collections") as error:
            open_store(f"elasticsearch://127.0.0.1:{server.port}")
        assert "none, notes" in str(error.value.hint)  # neither aliases nor the system's own


def test_what_a_mapping_says() -> None:
    vectors, texts = fields_of(
        {
            "properties": {
                "a": {"type": "dense_vector", "dims": 8, "element_type": "byte", "similarity": "l2_norm"},
                "b": {"type": "knn_vector", "dimension": 8, "space_type": "innerproduct"},
                "c": {"type": "dense_vector", "element_type": "bit"},
                "d": {"type": "rank_vectors"},
                "e": {"type": "sparse_vector"},
                "f": {"properties": {"g": {"type": "match_only_text"}, "h": {"type": "long"}}},
            }
        }
    )
    assert [(one.name, one.dimension, one.dtype, one.metric) for one in vectors[:2]] == [
        ("a", 8, "int8", "l2"),
        ("b", 8, "float32", "dot"),
    ]
    assert [one.name for one in vectors if one.obstacle] == ["c", "d", "e"]
    assert texts == ("f.g",)
