"""Formats that are read from the beginning: JSON lines (a file or standard input) and Parquet."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from unembed.errors import DataError, UsageError
from unembed.extras import require
from unembed.vectors.arrays import Floats, as_floats
from unembed.vectors.random_access import choose

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class JsonLines:
    """One vector per line: a list of numbers, or an object with such a list in one of its fields."""

    path: Path | None  # None is standard input
    field: str | None

    def count(self) -> int | None:
        if self.path is None:
            return None
        with self.open() as file:
            return sum(1 for line in file if line.strip())

    def blocks(self, start: int, size: int) -> Iterator[Floats]:
        vectors = self._vectors(start)
        # Standard input may be slow: a vector is passed on when it comes, the caller gathers them.
        size = 1 if self.path is None else size
        while block := list(islice(vectors, size)):
            yield np.stack(block)

    def _vectors(self, start: int) -> Iterator[Floats]:
        where = "standard input" if self.path is None else str(self.path)
        row, width, missing = 0, 0, 0  # `missing`: vectors that are null before the first that is not
        with self.open() as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                row += 1
                if row <= start:
                    continue
                vector = self.parse(line, f"{where}, line {number},")
                if vector is None:
                    missing += 1
                elif width and len(vector) != width:
                    raise DataError(
                        f"{where}, line {number}, has {len(vector)} numbers; the line before it had {width}.",
                        hint="All vectors of a file must come from one encoder.",
                    )
                else:
                    width = len(vector)
                if width:
                    yield from (np.full(width, np.nan, np.float32) for _ in range(missing))
                    missing = 0
                    if vector is not None:
                        yield vector
        if missing:
            raise DataError(f"{where} has no vector: all of them are null.")

    def parse(self, line: bytes, where: str) -> Floats | None:
        """The vector, with NaN where a number is null; None where there is no vector at all."""
        try:
            record = json.loads(line)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DataError(
                f"{where} is not valid JSON: {error}.", hint="Write one vector per line: [0.1, 0.2, ...]"
            ) from error
        if isinstance(record, dict):
            record = record[self.field_of(record, where)]
        if record is None:
            return None
        numbers = (int, float, type(None))
        if not isinstance(record, list) or not all(type(x) in numbers for x in record) or not record:
            raise DataError(
                f"{where} is not a vector.",
                hint='Write [0.1, 0.2, ...] or {"embedding": [0.1, 0.2, ...]}.',
            )
        return as_floats([np.nan if x is None else x for x in record])

    def field_of(self, record: dict[str, Any], where: str) -> str:
        """The field of a record that holds the vector."""
        if self.field is not None or not record:
            return choose(list(record), self.field or "embedding", where, "field")
        lists = [name for name, value in record.items() if isinstance(value, list)]
        return choose(lists or list(record), None, where, "field")

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """The lines, unpacked where the file is gzipped."""
        if self.path is None:
            return nullcontext(sys.stdin.buffer)  # not ours to close
        with self.path.open("rb") as handle:
            zipped = handle.read(2) == _GZIP_MAGIC
        return cast("IO[bytes]", gzip.GzipFile(self.path)) if zipped else self.path.open("rb")


@dataclass(frozen=True)
class Parquet:
    """A column of lists of numbers; lists of fixed size as well."""

    path: Path
    field: str | None

    def count(self) -> int:
        with self.open() as file:
            return int(file.metadata.num_rows)

    def blocks(self, start: int, size: int) -> Iterator[Floats]:
        with self.open() as file:
            column = self.column(file.schema_arrow)
            groups, skip = self._groups(file.metadata, start)
            row, width = start - skip, 0
            for batch in parquet_batches(file, size, groups, [column]):
                values = batch.column(0)
                present = ~np.asarray(values.is_null())  # [n]
                some = self.table(values.drop_null(), column, row) if present.any() else None  # [k, D]
                width = (width or self._width(column)) if some is None else some.shape[1]
                # A row without a vector is one that cannot be inverted, like one with NaN.
                table = np.full((len(values), width), np.nan, np.float32)  # [n, D]
                if some is not None:
                    table[present] = some
                first = min(skip, len(table))
                skip, row = skip - first, row + len(table)
                yield table[first:]

    def _width(self, column: str) -> int:
        """The dimension of the first vector that there is."""
        with self.open() as file:
            for batch in file.iter_batches(columns=[column]):
                values = batch.column(0).drop_null()
                if len(values):
                    return len(values[0].as_py())
        raise DataError(f"{self.path}, column '{column}', has no vector: all of them are null.")

    def table(self, values: Any, column: str, row: int) -> Floats:
        """The vectors of a column's values, none of them null; `row` is the first one's number.  # [n, D]"""
        flat = as_floats(values.flatten().to_numpy(zero_copy_only=False))
        if not len(values) or len(flat) % len(values):
            raise self._ragged(column, row)
        width = len(flat) // len(values)
        lengths = values.value_lengths() if hasattr(values, "value_lengths") else None
        if lengths is not None and (np.asarray(lengths) != width).any():
            raise self._ragged(column, row)
        return flat.reshape(len(values), width)

    def _ragged(self, column: str, row: int) -> DataError:
        return DataError(
            f"{self.path}, column '{column}', has vectors of different dimensions after row {row}.",
            hint="All vectors of a file must come from one encoder.",
        )

    def column(self, schema: Any) -> str:
        """The column that holds the vectors."""
        types = require("pyarrow.types", extra="parquet", purpose="Reading Parquet")
        lists = [
            field.name
            for field in schema
            if types.is_list(field.type)
            or types.is_large_list(field.type)
            or types.is_fixed_size_list(field.type)
        ]
        if self.field is None and not lists:
            raise UsageError(
                f"{self.path} has no column of lists of numbers.",
                hint=f"Its columns: {', '.join(schema.names)}.",
            )
        return choose(lists, self.field, str(self.path), "column of lists")

    def _groups(self, metadata: Any, start: int) -> tuple[list[int], int]:
        """The row groups from `start` on, and how many rows of the first are before it."""
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        first = 0
        while first < len(sizes) and start >= sizes[first]:
            start -= sizes[first]
            first += 1
        return list(range(first, len(sizes))), start if first < len(sizes) else 0

    @contextmanager
    def open(self) -> Iterator[Any]:
        """The file, as pyarrow opens it."""
        parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
        from pyarrow.lib import ArrowException

        try:
            with parquet.ParquetFile(self.path) as file:
                yield file
        except (ArrowException, OSError) as error:
            raise DataError(f"{self.path} cannot be read as Parquet: {error}") from error


def parquet_batches(file: Any, size: int, groups: Iterable[int], columns: list[str]) -> Iterator[Any]:
    """Row group by row group: asked for all at once, Arrow reads ahead and holds most of a large file."""
    for group in groups:
        yield from file.iter_batches(batch_size=size, row_groups=[group], columns=columns, use_threads=False)
