"""LanceDB: a table of a local folder. Reading changes nothing: its files are never changed, only added to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from unembed.errors import DataError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.arrow_rows import Columns, arrow_rows
from unembed.stores.base import BATCH, Row
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_id, choose_text, choose_vector, measured, metadata
from unembed.stores.file_layout import arrow_fields
from unembed.stores.wanted import Wanted

_ROW = "_rowid"
_AHEAD = 16_384  # rows of one query: Lance reads ahead as far as it may, and holds it


class LanceDBStore(DescribedStore):
    """One table. Ids are a column like `id`, or Lance's own row ids."""

    kind = "lancedb"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        lancedb: Any = require("lancedb", extra="lancedb", purpose="Reading a LanceDB folder")
        self._address = address
        path = address.local_path(folder=True)
        try:
            database = lancedb.connect(str(path))
            self._name = choose_collection(_tables(database), address.collection, str(path), "table")
            self._table = database.open_table(self._name)
            schema = self._table.schema
        except (RuntimeError, ValueError, OSError) as error:
            raise self._damaged(error) from error
        vectors, self._texts = arrow_fields(schema)
        metrics = self._metrics()
        self._vectors = tuple(replace(field, metric=metrics.get(field.name)) for field in vectors)
        where = f"{path}, table '{self._name}',"
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        self._text = choose_text(self._texts, wanted.text_field, where)
        self._id = choose_id(schema.names)
        self._metadata = _metadata(schema)
        self._vectors, self._vector = measured(self._vectors, self._vector, self.scroll)

    def count(self) -> int:
        return int(self._table.count_rows())

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        columns = Columns(self._id or _ROW, self._vector.name, self._text)
        wanted = [name for name in dict.fromkeys((self._id, *columns[1:])) if name]
        read = 0
        try:
            for first in range(0, self.count(), _AHEAD):
                query = self._table.search().select(wanted).offset(first).limit(_AHEAD)
                query = query if self._id else query.with_row_id(True)
                for page in query.to_batches(batch_size=batch):
                    for start in range(0, len(page), batch):  # `batch_size` is a wish
                        part = page.slice(start, batch)
                        rows = arrow_rows(part, columns, read, str(self._address))
                        read += len(part)
                        if rows:
                            yield rows
        except (RuntimeError, ValueError, OSError) as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        pass

    def _metrics(self) -> dict[str, str]:
        """How indexed columns are compared."""
        found = {}
        for index in self._table.list_indices():
            stats = self._table.index_stats(index.name)
            if stats is not None and stats.distance_type and len(index.columns) == 1:
                found[index.columns[0]] = str(stats.distance_type).lower()
        return found

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"{self._address} cannot be read with LanceDB: {str(error).splitlines()[0]}",
            hint="Is it a LanceDB folder, and whole?",
        )


def _tables(database: Any) -> list[str]:
    """The names of all tables, which come in pages."""
    names: list[str] = []
    token = None
    while True:
        page = database.list_tables(page_token=token)
        names += page.tables
        token = page.page_token
        if not token:
            return names


def _metadata(schema: Any) -> dict[str, str]:
    """The table's own metadata; of embedding functions, which model they name."""
    found = {name.decode(): value.decode() for name, value in (schema.metadata or {}).items()}
    try:
        functions = json.loads(found.pop("embedding_functions", "[]"))
        for number, function in enumerate(functions):
            found[f"embedding_function_{number}"] = str(function.get("name"))
            found[f"embedding_model_{number}"] = str((function.get("model") or {}).get("name") or "")
    except (ValueError, AttributeError):
        pass
    return metadata(found)
