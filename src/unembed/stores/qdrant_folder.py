"""A folder of qdrant-client's local mode, read as the files that it is.

The client itself locks the folder, loads everything into memory, and unpickles whatever it finds. Here the
SQLite file is opened read only and read in pages, and a pickle may build nothing but plain values: no code of
it runs.
"""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from unembed.errors import DataError, UnembedError
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_text, choose_vector, metadata
from unembed.stores.payloads import FIRST, text_at, text_fields
from unembed.stores.qdrant_fields import vector_fields
from unembed.stores.sqlite_file import read_only_uri
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import Floats, as_floats

_MODELS = "qdrant_client.http.models.models"
_NUMPY = {
    ("numpy", "ndarray"), ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"),
}  # fmt: skip


class QdrantFolder(DescribedStore):
    """One collection. Ids are the points' ids."""

    kind = "qdrant"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        self._address = address
        folder = address.local_path(folder=True)
        meta = self._meta(folder)
        aliases = meta.get("aliases") or {}
        name = aliases.get(address.collection, address.collection)
        self._name = choose_collection(list(meta["collections"]), name, str(folder))
        config = meta["collections"][self._name]
        self._path = folder / "collection" / self._name / "storage.sqlite"
        if not self._path.is_file():
            raise DataError(f"{folder} has no {self._path.relative_to(folder)}: it is not whole.")
        where = f"{folder}, collection '{self._name}',"
        self._vectors = vector_fields(config.get("vectors"), config.get("sparse_vectors"))
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        self._metadata = metadata(config.get("metadata") or {})
        self._uri, self._copy = read_only_uri(self._path)
        try:
            self._texts = text_fields(point.get("payload") for point in islice(self._points(FIRST), FIRST))
            self._text = choose_text(self._texts, wanted.text_field, where)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        try:
            with closing(sqlite3.connect(self._uri, uri=True)) as database:
                return int(database.execute("SELECT count(*) FROM points").fetchone()[0])
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        points = self._points(batch)
        while some := list(islice(points, batch)):
            rows = [
                Row(str(point["id"]), vector, text_at(point.get("payload"), self._text))
                for point in some
                if (vector := self._vector_of(point)) is not None
            ]
            if rows:
                yield rows

    def close(self) -> None:
        if self._copy is not None:
            self._copy.remove()

    def _points(self, batch: int) -> Iterator[dict[str, Any]]:
        try:
            with closing(sqlite3.connect(self._uri, uri=True)) as database:
                cursor = database.execute("SELECT point FROM points ORDER BY rowid")
                while some := cursor.fetchmany(batch):
                    for (point,) in some:
                        yield self._unpickled(point)
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def _vector_of(self, point: dict[str, Any]) -> Floats | None:
        """As a server hands it out: it keeps vectors that are compared by cosine at length 1."""
        found = point.get("vector")
        found = found.get(self._vector.name) if isinstance(found, dict) else found
        if found is None:
            return None
        vector = as_floats(found)
        if vector.shape != (self._vector.dimension,):
            raise DataError(
                f"{self._address}, point {point['id']}, has a vector of shape {list(vector.shape)}."
            )
        norm = float(np.linalg.norm(vector)) if self._vector.metric == "cosine" else 0.0
        return vector / np.float32(norm) if norm > 0 else vector

    def _unpickled(self, point: bytes) -> dict[str, Any]:
        try:
            return _plain(_PlainUnpickler(io.BytesIO(point)).load())
        except UnembedError:
            raise
        except Exception as error:  # a damaged pickle can raise anything
            raise self._damaged(error) from error

    def _meta(self, folder: Path) -> dict[str, Any]:
        path = folder / "meta.json"
        if not path.is_file():
            raise DataError(
                f"{folder} is no folder of qdrant-client's local mode: it has no meta.json.",
                hint="The storage of a Qdrant server is read through the server: qdrant://localhost:6333",
            )
        try:
            meta: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            meta["collections"].items()
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise DataError(f"{path} is damaged: {error}") from error
        return meta

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self._path} cannot be read: {error}", hint="Is another process writing to it?")


class _Model:
    """Stands for a class of qdrant-client: its fields and nothing else."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields = state.get("__dict__", state)


class _PlainUnpickler(pickle.Unpickler):
    """Builds models, numpy arrays and plain values; refuses everything else by name."""

    def find_class(self, module: str, name: str) -> Any:
        if module == _MODELS:
            return _Model
        if (module, name) in _NUMPY:
            return super().find_class(module, name)
        raise DataError(
            f"A point of this Qdrant folder wants to load {module}.{name}, which is refused.",
            hint="Points hold plain values; is the folder from somebody you trust?",
        )


def _plain(point: Any) -> dict[str, Any]:
    fields: dict[str, Any] = point.fields
    if "id" not in fields:
        raise DataError("A point has no id.")
    return fields
