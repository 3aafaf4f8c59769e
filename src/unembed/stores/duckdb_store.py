"""DuckDB: a table with a column of arrays or lists. The file is opened read only, without any extension."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from unembed.errors import DataError, UnavailableError, UnembedError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.arrow_rows import Columns, arrow_rows
from unembed.stores.base import BATCH, Row, VectorField
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_id, choose_text, choose_vector, measured, metadata
from unembed.stores.wanted import Wanted

_LIST = re.compile(r"(FLOAT|DOUBLE|REAL|TINYINT|UTINYINT|SMALLINT|INTEGER|DECIMAL\([\d,]+\))\[(\d*)\]")
_DTYPES = {"FLOAT": "float32", "REAL": "float32", "DOUBLE": "float64", "TINYINT": "int8", "UTINYINT": "uint8"}
# Nothing is fetched, installed or read besides this file; its pages are not all kept, as DuckDB would.
_CONFIG = {
    "memory_limit": "200MB",
    "threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
}


class DuckDBStore(DescribedStore):
    """One table. Ids are its primary key, or a column like `id`, or DuckDB's own row ids."""

    kind = "duckdb"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        self._duckdb: Any = require("duckdb", extra="duckdb", purpose="Reading a DuckDB file")
        require("pyarrow", extra="duckdb", purpose="Reading a DuckDB file")
        self._address = address
        self._vectors: tuple[VectorField, ...] = ()
        self._texts: tuple[str, ...] = ()
        path = address.local_path()
        try:
            self._database = self._duckdb.connect(str(path), read_only=True, config=_CONFIG)
        except self._duckdb.Error as error:
            raise self._explained(error) from error
        try:
            names = {
                f"{name}" if schema == "main" else f"{schema}.{name}": (schema, name)
                for schema, name in self._fetch(
                    "SELECT table_schema, table_name FROM information_schema.tables "
                    "WHERE table_catalog = current_database() ORDER BY ALL"
                )
            }
            self._name = choose_collection(list(names), address.collection, str(path), "table")
            schema, name = names[self._name]
            self._from = f"{_quoted(schema)}.{_quoted(name)}"
            self._read_columns(schema, name)
            where = f"{path}, table '{self._name}',"
            self._vector = choose_vector(self._vectors, wanted.vector, where)
            self._text = choose_text(self._texts, wanted.text_field, where)
            self._vectors, self._vector = measured(self._vectors, self._vector, self.scroll)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        return int(self._fetch(f"SELECT count(*) FROM {self._from}")[0][0])

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        parts = [f"{self._id} AS id", f"{_quoted(self._vector.name)} AS vector"]
        parts += [f"{_quoted(self._text)} AS text"] if self._text else []
        columns = Columns("id", "vector", "text" if self._text else None)
        read = 0
        try:
            # A cursor of its own: two readings of one store do not disturb each other.
            relation = self._database.cursor().sql(f"SELECT {', '.join(parts)} FROM {self._from}")
            for page in relation.to_arrow_reader(batch):
                rows = arrow_rows(page, columns, read, str(self._address))
                read += len(page)
                if rows:
                    yield rows
        except self._duckdb.Error as error:
            raise self._explained(error) from error

    def close(self) -> None:
        self._database.close()

    def _read_columns(self, schema: str, name: str) -> None:
        columns = self._fetch(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_catalog = "
            "current_database() AND table_schema = ? AND table_name = ? ORDER BY ordinal_position",
            [schema, name],
        )
        found = [(column, match) for column, kind in columns if (match := _LIST.fullmatch(kind))]
        self._vectors = tuple(
            VectorField(column, int(match[2]) if match[2] else None, _DTYPES.get(match[1], match[1].lower()))
            for column, match in found
        )
        self._texts = tuple(column for column, kind in columns if kind == "VARCHAR")
        keys = self._fetch(
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY' "
            "AND schema_name = ? AND table_name = ?",
            [schema, name],
        )
        usual = choose_id([column for column, _ in columns])
        key = keys[0][0][0] if keys and len(keys[0][0]) == 1 else usual
        tables = self._fetch(
            "SELECT comment FROM duckdb_tables() WHERE schema_name = ? AND table_name = ?", [schema, name]
        )
        # A view has no row ids: its rows are numbered as they come.
        self._id = _quoted(key) if key else "rowid" if tables else "row_number() OVER ()"
        self._metadata = metadata({"comment": tables[0][0] if tables else None})

    def _fetch(self, query: str, values: list[str] | None = None) -> list[Any]:
        try:
            found: list[Any] = self._database.execute(query, values or []).fetchall()
        except self._duckdb.Error as error:
            raise self._explained(error) from error
        return found

    def _explained(self, error: Exception) -> UnembedError:
        reason = str(error).splitlines()[0]
        if "lock" in reason.lower():
            return UnavailableError(
                f"{self._address} is open for writing in another process.",
                hint="Close it there, or copy the file and read the copy.",
            )
        return DataError(
            f"{self._address} cannot be read with DuckDB: {reason}",
            hint="Is it a DuckDB database, of a version that the installed duckdb reads?",
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
