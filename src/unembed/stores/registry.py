"""The stores by the first word of their address: one line each, and the class that opens it.

To add a store: write a file in this folder with a class after `base.Store` that is built from an address and
`Wanted`, add one line to `KINDS`, and one case to tests/stores/test_store_contract.py.
"""

from __future__ import annotations

import difflib
import importlib
from typing import NamedTuple

from unembed.errors import UsageError
from unembed.stores.address import Address, parse_address
from unembed.stores.base import TIMEOUT, Store
from unembed.stores.wanted import Wanted
from unembed.vectors.files import FAISS


class Kind(NamedTuple):
    """One kind of store: the classes of this folder that open it, as FILE.CLASS."""

    local: str | None = None
    server: str | None = None
    example: str = ""


# fmt: off
KINDS: dict[str, Kind] = {
    "qdrant": Kind("qdrant_folder.QdrantFolder", "qdrant_server.QdrantServer", "qdrant:./folder#documents"),
    "qdrants": Kind(None, "qdrant_server.QdrantServer", "qdrants://host:6333#documents"),
    "chroma": Kind("chroma_store.open_folder", "chroma_store.open_server", "chroma:./folder#documents"),
    "chromas": Kind(None, "chroma_store.open_server", "chromas://host:8000#documents"),
    "lancedb": Kind("lancedb_store.LanceDBStore", None, "lancedb:./folder#documents"),
    "pgvector": Kind(None, "pgvector_store.PgvectorStore", "pgvector://user@host/database?table=documents"),
    "milvus": Kind("milvus_store.open_file", "milvus_store.open_server", "milvus:./file.db#documents"),
    "milvuss": Kind(None, "milvus_store.open_server", "milvuss://host:19530#documents"),
    "sqlite-vec": Kind("sqlite_vec_store.SqliteVecStore", None, "sqlite-vec:./file.db#documents"),
    "duckdb": Kind("duckdb_store.DuckDBStore", None, "duckdb:./file.duckdb#documents"),
    "redis": Kind(None, "redis_store.RedisStore", "redis://host:6379/0#documents:"),
    "rediss": Kind(None, "redis_store.RedisStore", "rediss://host:6379/0#documents:"),
    "elasticsearch": Kind(None, "elastic_store.ElasticStore", "elasticsearch://host:9200#documents"),
    "elasticsearchs": Kind(None, "elastic_store.ElasticStore", "elasticsearchs://host:9200#documents"),
    "opensearch": Kind(None, "elastic_store.ElasticStore", "opensearch://host:9200#documents"),
    "opensearchs": Kind(None, "elastic_store.ElasticStore", "opensearchs://user@host:9200#documents"),
    "faiss": Kind("faiss_store.FaissStore", None, "faiss:./index.faiss"),
}
# fmt: on


def open_store(
    address: str, *, vector: str | None = None, text_field: str | None = None, timeout: float = TIMEOUT
) -> Store:
    """Open a store for reading: an address such as `qdrant:./folder#documents`, or a file of vectors.

    >>> store = open_store("chroma:./chroma#notes", text_field="document")
    >>> store.describe().count
    1200

    `vector` names the vectors where a row has several, `text_field` the field of the text where its name is
    unusual; `timeout` is how many seconds a server may take for one answer.
    """
    if timeout <= 0:
        raise UsageError(f"A timeout is more than 0 seconds, not {timeout:g}.")
    parsed = parse_address(address)
    module, name = _opener(parsed).split(".")
    opener = getattr(importlib.import_module(f"unembed.stores.{module}"), name)
    store: Store = opener(parsed, Wanted(vector=vector, text_field=text_field, timeout=timeout))
    return store


def is_store_address(source: str) -> bool:
    """Whether this is an address of a store, not the path of a file; a misspelt kind counts too."""
    return bool(parse_address(source).kind)


def _opener(address: Address) -> str:
    if not address.kind:
        is_index = address.path.lower().endswith(FAISS)
        return "faiss_store.FaissStore" if is_index else "file_store.FileStore"
    kind = KINDS.get(address.kind)
    if kind is None:
        close = difflib.get_close_matches(address.kind, KINDS, n=1)
        guess = f"Did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"There is no store of the kind '{address.kind}'.", hint=f"{guess}Kinds: {', '.join(KINDS)}."
        )
    found = kind.local if address.host is None else kind.server
    if found is None:
        place = "a file or folder of this machine" if kind.local else "a server"
        raise UsageError(f"A {address.kind} store is {place}.", hint=f"For example: {kind.example}")
    return found
