"""pgvector: a table of PostgreSQL, through a server-side cursor in a transaction that is read only.

Passwords come from PGPASSWORD, `.pgpass` or whatever else libpq reads. A user who may only SELECT is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from unembed.errors import DataError, UnavailableError, UnembedError, UsageError
from unembed.extras import require
from unembed.stores.address import Address
from unembed.stores.base import BATCH, Row
from unembed.stores.connection import one_line, page_size, patiently, silent
from unembed.stores.described_store import DescribedStore
from unembed.stores.fields import choose_collection, choose_text, choose_vector, measured
from unembed.stores.pgvector_schema import Table, find_tables, metrics_of
from unembed.stores.wanted import Wanted
from unembed.vectors.arrays import Floats, as_floats

_PURPOSE = "Reading from PostgreSQL"
_OPTIONS = ("table", "column", "host", "sslmode")
_CREDENTIALS = "PGPASSWORD or ~/.pgpass"
Answer = TypeVar("Answer")


class PgvectorStore(DescribedStore):
    """One table, named `?table=...` or `#...`. Ids: its primary key, a column like `id`, or row numbers."""

    kind = "pgvector"

    def __init__(self, address: Address, wanted: Wanted) -> None:
        self._psycopg: Any = require("psycopg", extra="pgvector", purpose=_PURPOSE)
        self._sql: Any = require("psycopg.sql", extra="pgvector", purpose=_PURPOSE)
        address.check_options(*_OPTIONS)
        self._address, self._timeout = address, wanted.timeout
        self._connection = self._call(self._connect)
        try:
            self._open_table(wanted)
        except BaseException:
            self.close()
            raise

    def count(self) -> int:
        query = self._sql.SQL("SELECT count(*) FROM {}").format(self._identifier())
        return int(self._fetch(query)[0][0])

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        limit, read = page_size(batch, self._vector.dimension), 0
        try:
            # A connection of its own: the cursor's transaction stays open as long as the reading takes.
            with self._call(self._connect) as connection:
                with connection.cursor(name="unembed", binary=True) as cursor:
                    cursor.execute(self._query())
                    while some := cursor.fetchmany(limit):
                        read += len(some)
                        yield [Row(str(one), self._decoded(vector, one), text) for one, vector, text in some]
                connection.rollback()
        except self._psycopg.Error as error:
            raise self._explained(error, read) or error from error

    def close(self) -> None:
        self._connection.close()

    def _connect(self) -> Any:
        address = self._address
        options = {"sslmode": address.options["sslmode"]} if "sslmode" in address.options else {}
        connection = self._psycopg.connect(
            host=address.options.get("host", address.host),
            port=address.port,
            user=address.user,
            dbname=address.path or None,
            connect_timeout=max(1, math.ceil(self._timeout)),
            application_name="unembed",
            **options,
        )
        connection.read_only = True
        connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
        # Set for the session, not at its start: connection poolers refuse options that they do not know.
        connection.execute(f"SET statement_timeout = {math.ceil(self._timeout * 1000)}")
        connection.commit()
        return connection

    def _open_table(self, wanted: Wanted) -> None:
        options = self._address.options
        found = {table.name: table for table in find_tables(self._fetch)}
        name = options.get("table", self._address.collection)
        if name in found and not found[name].vectors:
            raise UsageError(
                f"{self._address}: the table '{name}' has no column of vectors.",
                hint=f"Its columns: {', '.join(found[name].columns)}.",
            )
        where = f"{self._address}, table '{name}',"
        with_vectors = [table.name for table in found.values() if table.vectors]
        self._table: Table = found[choose_collection(with_vectors, name, str(self._address), "table")]
        self._name, self._texts, self._metadata = self._table.name, self._table.texts, self._table.comments
        if wanted.vector and options.get("column", wanted.vector) != wanted.vector:
            raise UsageError(
                f"The address names the column '{options['column']}', --vector '{wanted.vector}'."
            )
        self._vectors = metrics_of(self._fetch, self._table)
        self._vector = choose_vector(self._vectors, wanted.vector or options.get("column"), where)
        self._text = choose_text(self._texts, wanted.text_field, where)
        self._vectors, self._vector = measured(self._vectors, self._vector, self.scroll)

    def _identifier(self) -> Any:
        return self._sql.Identifier(self._table.schema, self._table.relation)

    def _query(self) -> Any:
        """Casts leave PostgreSQL to print ids of any type; rows without a vector stay there."""
        name, sql = self._sql.Identifier, self._sql.SQL
        key = name(self._table.id) if self._table.id else sql("row_number() OVER ()")
        text = sql("nullif({}::text, '')").format(name(self._text)) if self._text else sql("NULL::text")
        return sql("SELECT {}::text, {}, {} FROM {} WHERE {} IS NOT NULL").format(
            key, name(self._vector.name), text, self._identifier(), name(self._vector.name)
        )

    def _decoded(self, value: Any, row: object) -> Floats:
        """pgvector's binary form: two numbers of two bytes, the first is the dimension; then the vector."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            return as_floats(value)  # an array of PostgreSQL itself
        dtype = ">f2" if self._vector.dtype == "float16" else ">f4"
        vector = np.frombuffer(value, dtype, offset=4).astype(np.float32)  # [D]
        if len(vector) != int.from_bytes(value[:2], "big"):
            raise DataError(f"{self._address}, row {row}, is not a vector as pgvector writes it.")
        return vector

    def _fetch(self, query: Any, values: tuple[Any, ...] = ()) -> list[Any]:
        def work() -> list[Any]:
            with self._connection.transaction():
                found: list[Any] = self._connection.execute(query, values).fetchall()
            return found

        return self._call(work)

    def _call(self, work: Callable[[], Answer]) -> Answer:
        return patiently(work, passing=self._may_pass, explain=lambda error: self._explained(error, 0))

    def _may_pass(self, error: Exception) -> bool:
        text = str(error).lower()
        if not isinstance(error, self._psycopg.OperationalError) or error.sqlstate is not None:
            return False
        return "password" not in text and "does not exist" not in text and "authentication" not in text

    def _explained(self, error: Exception, rows: int) -> UnembedError | None:
        if not isinstance(error, self._psycopg.Error):
            return None
        reason, errors = one_line(error), self._psycopg.errors
        if "password" in reason or "authentication" in reason or "no pg_hba.conf" in reason:
            return UnavailableError(
                f"{self._address} refused the user or the password.",
                hint=f"Name the user in the address (pgvector://USER@HOST/DATABASE), and set {_CREDENTIALS}.",
            )
        if isinstance(error, errors.InsufficientPrivilege):
            return UnavailableError(
                f"{self._address}: the user may not read this: {reason}",
                hint="GRANT SELECT on the table to the user, and USAGE on its schema.",
            )
        if "does not exist" in reason:
            return UsageError(f"{self._address}: {reason}", hint="'psql --list' lists the databases.")
        if isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError)):
            return silent(self._address, reason, rows=rows)
        return DataError(f"{self._address} cannot be read: {reason}")
