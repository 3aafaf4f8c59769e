"""Milvus: a Milvus Lite file (a folder, since its version 3), or a server. A server's token is MILVUS_TOKEN.

Milvus Lite locks its files and builds indexes as it reads, so it is given a copy (`snapshot.Snapshot`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unembed.errors import DataError, UnavailableError, UnembedError, UsageError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row, VectorField
from unembed.stores.connection import one_line, page_size, patiently, refused, secret, silent
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_text, choose_vector, metadata
from unembed.stores.payloads import FIRST, text_at, text_fields
from unembed.stores.qdrant_fields import SPARSE
from unembed.stores.snapshot import Snapshot
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import Floats, as_floats

_PORT = 19530
_PURPOSE = "Reading a Milvus store"
_DTYPES = {
    "FLOAT_VECTOR": "float32",
    "FLOAT16_VECTOR": "float16",
    "BFLOAT16_VECTOR": "bfloat16",
    "INT8_VECTOR": "int8",
}
_OBSTACLES = {"BINARY_VECTOR": "they are binary: one bit a dimension", "SPARSE_FLOAT_VECTOR": SPARSE}
_METRICS = {"COSINE": "cosine", "L2": "l2", "IP": "dot"}
_UNAVAILABLE = 2  # the client's code for a server that it cannot reach
Answer = TypeVar("Answer")


def open_file(address: Address, wanted: Wanted) -> MilvusStore:
    """A collection of a Milvus Lite file."""
    library = require("pymilvus", extra="milvus", purpose=_PURPOSE)
    require("milvus_lite", extra="milvus", purpose=_PURPOSE)
    path = Path(address.path).expanduser()
    if not path.exists():
        raise UsageError(f"There is no file {path}.", hint=f"'{address}' names a file of this machine.")
    if path.is_dir() and not (path / "collections").is_dir():
        raise DataError(f"{path} is no folder of Milvus Lite: it has no collections.")
    copy = Snapshot(path, name="copy.db")  # the client tells a file from an address by its ending
    try:
        return MilvusStore(address, wanted, lambda: library.MilvusClient(str(copy.path)), copy)
    except BaseException:
        copy.remove()
        raise


def open_server(address: Address, wanted: Wanted) -> MilvusStore:
    """A collection of a Milvus server; its database follows the host as a path."""
    library = require("pymilvus", extra="milvus", purpose=_PURPOSE)
    address.check_options()
    uri = f"http{'s' if address.kind == 'milvuss' else ''}://{address.host}:{address.port or _PORT}"
    token = secret("MILVUS_TOKEN")
    settings = {"token": token or "", "timeout": wanted.timeout, "db_name": address.path}
    return MilvusStore(
        address, wanted, lambda: library.MilvusClient(uri, **settings), None, has_token=token is not None
    )


class MilvusStore(DescribedStore):
    """One collection. Ids are its primary key."""

    kind = "milvus"

    def __init__(
        self,
        address: Address,
        wanted: Wanted,
        connect: Callable[[], Any],
        copy: Snapshot | None,
        *,
        has_token: bool = False,
    ) -> None:
        for logger in ("pymilvus", "milvus_lite"):  # they log what they raise as well
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
        self._errors: Any = require("pymilvus.exceptions", extra="milvus", purpose=_PURPOSE)
        self._address, self._copy, self._has_token = address, copy, has_token
        self._timeout = wanted.timeout
        self._client = self._call(connect)
        try:
            self._open_collection(wanted)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        stats = self._call(lambda: self._client.get_collection_stats(self._name, timeout=self._timeout))
        return int(stats["row_count"])

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        fields = [self._key, self._vector.name, *([self._text.split(".")[0]] if self._text else [])]
        for page in self._pages(page_size(batch, self._vector.dimension), fields):
            rows = [
                Row(str(one[self._key]), decoded(vector, self._vector.dtype), text_at(one, self._text))
                for one in page
                if (vector := one.get(self._vector.name)) is not None
            ]
            if rows:
                yield rows

    def close(self) -> None:
        self._client.close()
        if self._copy is not None:
            _release(self._copy.path)
            self._copy.remove()

    def _open_collection(self, wanted: Wanted) -> None:
        names = self._call(lambda: self._client.list_collections(timeout=self._timeout))
        self._name = choose_collection(names, self._address.collection, str(self._address))
        schema = self._call(lambda: self._client.describe_collection(self._name, timeout=self._timeout))
        where = f"{self._address}, collection '{self._name}',"
        fields = {field["name"]: field for field in schema["fields"]}
        self._key = next(name for name, field in fields.items() if field.get("is_primary"))
        self._vectors = tuple(
            found for field in fields.values() if (found := self._vector_field(field)) is not None
        )
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        self._metadata = metadata({**schema.get("properties", {}), "description": schema.get("description")})
        self._load()
        declared = [
            name for name, field in fields.items() if field["type"].name == "VARCHAR" and name != self._key
        ]
        first = next(self._pages(FIRST, ["*"]), [])
        free = [name for name in text_fields(first) if name != self._key]
        self._texts = tuple(dict.fromkeys((*declared, *free)))
        self._text = choose_text(self._texts, wanted.text_field, where)

    def _vector_field(self, field: Any) -> VectorField | None:
        kind, name = field["type"].name, field["name"]
        if not kind.endswith("_VECTOR"):
            return None
        indexes = self._call(lambda: self._client.list_indexes(self._name, field_name=name))
        found = self._call(lambda: self._client.describe_index(self._name, indexes[0])) if indexes else None
        metric = _METRICS.get((found or {}).get("metric_type", ""))
        width = field["params"].get("dim")
        dtype = _DTYPES.get(kind, kind.removesuffix("_VECTOR").lower())
        return VectorField(name, int(width) if width else None, dtype, metric, _OBSTACLES.get(kind))

    def _load(self) -> None:
        """The copy is loaded; a server is left as it is."""
        if self._copy is not None:
            self._call(lambda: self._client.load_collection(self._name))
            return
        state = self._call(lambda: self._client.get_load_state(self._name, timeout=self._timeout))
        if "NotLoad" in str(state):
            raise UnavailableError(
                f"{self._address}: the collection '{self._name}' is not loaded.",
                hint="Load it first (load_collection); nothing on the server is changed from here.",
            )

    def _pages(self, limit: int, fields: list[str]) -> Iterator[list[Any]]:
        pages = self._call(
            lambda: self._client.query_iterator(
                self._name, batch_size=limit, output_fields=fields, timeout=self._timeout
            )
        )
        read = 0
        try:
            while page := self._call(pages.next, rows=read):
                read += len(page)
                yield page
        finally:
            pages.close()

    def _call(self, work: Callable[[], Answer], *, rows: int = 0) -> Answer:
        return patiently(work, passing=self._may_pass, explain=lambda error: self._explained(error, rows))

    def _may_pass(self, error: Exception) -> bool:
        return isinstance(error, self._errors.MilvusUnavailableException)

    def _explained(self, error: Exception, rows: int) -> UnembedError | None:
        if not isinstance(error, self._errors.MilvusException):
            return None
        reason = one_line(error.message)
        if "auth" in reason.lower():
            return refused(self._address, "MILVUS_TOKEN", given=self._has_token)
        if error.code == _UNAVAILABLE or isinstance(error, self._errors.MilvusUnavailableException):
            return silent(self._address, reason, rows=rows)
        return DataError(
            f"{self._address} cannot be read with Milvus: {reason}",
            hint="Is it a store of Milvus Lite 3? Before, it kept a single file, which version 2 reads.",
        )


def decoded(value: Any, dtype: str) -> Floats:
    """A vector as the client hands it out: numbers, or their bytes where the type is not Python's own."""
    value = value[0] if isinstance(value, list) and value and isinstance(value[0], bytes) else value
    if not isinstance(value, bytes):
        return as_floats(value)
    if dtype == "bfloat16":  # the upper half of a float32
        return (np.frombuffer(value, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(value, "<f2" if dtype == "float16" else "i1").astype(np.float32)


def _release(path: Path) -> None:
    """Stop the server that the client started in this process for the copy."""
    manager = require("milvus_lite.server_manager", extra="milvus", purpose=_PURPOSE)
    manager.server_manager_instance.release_server(str(path))
