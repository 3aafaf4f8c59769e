"""sqlite-vec: a `vec0` table, or an ordinary one with vectors in a BLOB column.

SQLite comes with apsw: many a Python's own SQLite cannot load extensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from unembed.errors import DataError, UnembedError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row, VectorField
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_id, choose_text, choose_vector
from unembed.stores.packed import guess_dtype, unpack
from unembed.stores.payloads import FIRST
from unembed.stores.sqlite_file import is_sqlite, read_only_uri
from unembed.stores.wanted import Wanted

_VEC0 = re.compile(r"\busing\s+vec0\s*\((.*)\)\s*$", re.IGNORECASE | re.DOTALL)
_VECTOR = re.compile(r"\s*(\w+)\s+(float32|float|f32|int8|i8|bit)\[(\d+)\]\s*(.*)", re.IGNORECASE | re.DOTALL)
_METRIC = re.compile(r"distance_metric\s*=\s*(\w+)", re.IGNORECASE)
_KEY = re.compile(r"\s*(\w+)\s+(?:text|integer)\s+primary\s+key", re.IGNORECASE)
_TEXT = re.compile(r"\s*\+?\s*(\w+)\s+text\b", re.IGNORECASE)
_SHADOWS = ("_info", "_chunks", "_rowids", "_auxiliary", "_vector_chunks", "_metadatachunks", "_metadatatext")
_DTYPES = {"bit": "bit", "int8": "int8", "i8": "int8"}
_PURPOSE = "Reading a sqlite-vec file"


class SqliteVecStore(DescribedStore):
    """One table. Ids are its primary key or row ids.

    A text field of another table, `documents.text`, is looked up by row id, as is usual where a vec0 table
    holds nothing but vectors.
    """

    kind = "sqlite-vec"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        self._apsw: Any = require("apsw", extra="sqlite-vec", purpose=_PURPOSE)
        extension = require("sqlite_vec", extra="sqlite-vec", purpose=_PURPOSE)
        self._address = address
        path = address.local_path()
        if not is_sqlite(path):
            raise DataError(f"{path} is not a SQLite file.")
        uri, self._copy = read_only_uri(path)
        self._database: Any = None
        try:
            flags = self._apsw.SQLITE_OPEN_READONLY | self._apsw.SQLITE_OPEN_URI
            self._database = self._apsw.Connection(uri, flags=flags)
            self._database.enable_load_extension(True)
            self._database.load_extension(extension.loadable_path())
            self._open_table(wanted, str(path))
        except BaseException as error:
            self.close()
            if isinstance(error, self._apsw.Error):
                raise self._explained(error) from error
            raise

    def count(self) -> int:
        return int(next(self._rows(f"SELECT count(*) FROM {_quoted(self._table)}"))[0])

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        table = _quoted(self._table)
        text = self._text_expression()
        found = self._rows(f"SELECT {self._id}, {_quoted(self._vector.name)}, {text} FROM {table}")
        dtype = self._vector.dtype
        while some := list(islice(found, batch)):
            page = [
                Row(str(one), unpack(blob, dtype, f"{self._address}, row {one},"), words or None)
                for one, blob, words in some
                if isinstance(blob, bytes)
            ]
            for row in page:
                if len(row.vector) != self._vector.dimension:
                    raise DataError(
                        f"{self._address}, row {row.id}, has a vector of {len(row.vector)} numbers; "
                        f"others have {self._vector.dimension}."
                    )
            if page:
                yield page

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        if self._copy is not None:
            self._copy.remove()

    def _open_table(self, wanted: Wanted, path: str) -> None:
        tables = dict(
            self._rows("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL")
        )
        virtual = {name: match[1] for name, sql in tables.items() if (match := _VEC0.search(sql))}
        plain = [name for name in tables if name not in virtual and not _is_shadow(name, virtual)]
        blobs = {name: fields for name in plain if (fields := self._blob_fields(name))}
        self._table = self._name = choose_collection(
            [*virtual, *blobs], self._address.collection, path, "table"
        )
        where = f"{path}, table '{self._table}',"
        if self._table in virtual:
            self._vectors, own, self._id = _vec0_columns(virtual[self._table])
        else:
            self._vectors, (own, self._id) = blobs[self._table], self._plain_columns(self._table)
        others = [
            f"{name}.{column}"
            for name in plain
            if name != self._table
            for column in self._plain_columns(name)[0]
        ]
        self._texts = (*own, *others)
        self._own_texts = own
        self._vector = choose_vector(self._vectors, wanted.vector, where)
        # Another table's text is read only where it is asked for: nothing says that its rows belong to these.
        self._text = choose_text(self._texts if wanted.text_field else own, wanted.text_field, where)

    def _blob_fields(self, table: str) -> tuple[VectorField, ...]:
        """Columns whose first values look like packed vectors."""
        names = [name for _, name, *_ in self._rows(f"PRAGMA table_info({_quoted(table)})")]
        rows = list(self._rows(f"SELECT * FROM {_quoted(table)} LIMIT {FIRST}"))
        fields = []
        for number, name in enumerate(names):
            values = [row[number] for row in rows if row[number] is not None]
            if values and all(isinstance(value, bytes) and len(value) >= 8 for value in values):
                dtype = guess_dtype(values) if len({len(value) for value in values}) == 1 else None
                if dtype is not None:
                    fields.append(VectorField(name, len(unpack(values[0], dtype, name)), dtype))
        return tuple(fields)

    def _plain_columns(self, table: str) -> tuple[tuple[str, ...], str]:
        """The text columns of an ordinary table, and what to select as its id."""
        columns = list(self._rows(f"PRAGMA table_info({_quoted(table)})"))
        keys = [name for _, name, _, _, _, key in columns if key]
        usual = keys[0] if len(keys) == 1 else choose_id([column[1] for column in columns])
        texts = tuple(
            name for _, name, kind, *_ in columns if re.search("TEXT|CHAR|CLOB", kind, re.IGNORECASE)
        )
        return texts, _quoted(usual) if usual else "rowid"

    def _text_expression(self) -> str:
        if self._text is None:
            return "NULL"
        if self._text in self._own_texts:
            return _quoted(self._text)
        table, _, column = self._text.partition(".")
        return (
            f"(SELECT {_quoted(column)} FROM {_quoted(table)} WHERE {_quoted(table)}.rowid = "
            f"{_quoted(self._table)}.{self._id})"
        )

    def _rows(self, query: str) -> Iterator[Any]:
        try:
            yield from self._database.execute(query)
        except self._apsw.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> UnembedError:
        return DataError(
            f"{self._address} cannot be read with SQLite: {error}", hint="Is another process writing to it?"
        )


def _vec0_columns(arguments: str) -> tuple[tuple[VectorField, ...], tuple[str, ...], str]:
    """The columns of a vec0 table as it was declared: vectors, texts, and the id."""
    vectors, texts, key = [], [], "rowid"
    for argument in re.split(r",(?![^\[]*\])", arguments):
        if match := _VECTOR.match(argument):
            name, kind, size, rest = match.groups()
            metric = _METRIC.search(rest)
            dtype = _DTYPES.get(kind.lower(), "float32")
            obstacle = "they are binary: one bit a dimension" if dtype == "bit" else None
            vectors.append(
                VectorField(name, int(size), dtype, metric[1].lower() if metric else "l2", obstacle)
            )
        elif match := _KEY.match(argument):
            key = _quoted(match[1])
        elif match := _TEXT.match(argument):
            texts.append(match[1])
    return tuple(vectors), tuple(texts), key


def _is_shadow(name: str, virtual: dict[str, str]) -> bool:
    """Whether a table belongs to the insides of a vec0 table, or of SQLite."""
    inside = any(name.startswith(f"{table}{shadow}") for table in virtual for shadow in _SHADOWS)
    return inside or name.startswith("sqlite_")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
