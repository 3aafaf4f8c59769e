"""Rows of one file of a dataset: vectors of one dimension, ids, and why a row cannot be used.

Where one file of vectors is read, a ragged one is an error. Among a hundred million rows of many files, a
wrong row is one that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from unembed.errors import UsageError
from unembed.extras import require
from unembed.vectors.arrays import Floats, as_floats
from unembed.vectors.files import Reader
from unembed.vectors.streamed import JsonLines, Parquet, parquet_batches

NO_VECTOR = "There is no vector in this row."
_AT_ONCE = 1024


class Rows(NamedTuple):
    """Some rows: a vector [D] each, all NaN where there is a reason."""

    vectors: Floats  # [n, D]
    reasons: list[str | None]  # [n]
    ids: list[Any] | None  # [n]

    @classmethod
    def join(cls, parts: Sequence[Rows], dimension: int) -> Rows:
        ids = [one for part in parts for one in part.ids or ()]
        return cls(
            np.concatenate([np.zeros((0, dimension), np.float32), *(part.vectors for part in parts)]),
            [one for part in parts for one in part.reasons],
            ids if any(part.ids is not None for part in parts) else None,
        )


def read_rows(
    reader: Reader, start: int, count: int, dimension: int, *, id_field: str | None, offset: tuple[int, int]
) -> Rows:
    """`count` rows from row `start` on. `offset`: a row at or before it, and the byte where it begins."""
    if isinstance(reader, Parquet):
        return _from_parquet(reader, start, count, dimension, id_field)
    if isinstance(reader, JsonLines):
        return _from_json(reader, start, count, dimension, id_field, offset)
    if id_field is not None:
        raise UsageError("A file of plain numbers has no ids.", hint="Leave out --id-field.")
    blocks = reader.blocks(start, min(count, _AT_ONCE))
    return _fitted(islice((row for block in blocks for row in block), count), dimension, None)


def other_dimension(found: int, dimension: int) -> str:
    """The reason of a vector that another encoder made."""
    return f"The vector has {found} dimensions; this model inverts vectors of {dimension}."


def _fitted(vectors: Iterable[Floats | None], dimension: int, ids: list[Any] | None) -> Rows:
    rows = list(vectors)
    table = np.full((len(rows), dimension), np.nan, np.float32)  # [n, D]
    reasons: list[str | None] = []
    for number, vector in enumerate(rows):
        fits = vector is not None and len(vector) == dimension
        if fits:
            table[number] = vector
        reasons.append(None if fits else _why(vector, dimension))
    return Rows(table, reasons, ids)


def _why(vector: Floats | None, dimension: int) -> str:
    return NO_VECTOR if vector is None else other_dimension(len(vector), dimension)


def _from_json(
    reader: JsonLines, start: int, count: int, dimension: int, id_field: str | None, offset: tuple[int, int]
) -> Rows:
    row, byte = offset
    vectors: list[Floats | None] = []
    ids: list[Any] = []
    with reader.opened() as file:
        file.seek(byte)
        lines = (line for line in file if line.strip())
        for number, line in enumerate(islice(lines, start - row, start - row + count), start):
            vectors.append(reader.parse(line, f"{reader.path}, row {number},"))
            if id_field is not None:
                record = json.loads(line)
                if not isinstance(record, dict) or id_field not in record:
                    raise UsageError(f"{reader.path}, row {number}, has no field '{id_field}'.")
                ids.append(record[id_field])
    return _fitted(vectors, dimension, None if id_field is None else ids)


def _from_parquet(reader: Parquet, start: int, count: int, dimension: int, id_field: str | None) -> Rows:
    parts: list[Rows] = []
    left = count
    with reader.opened() as file:
        column = reader.column(file.schema_arrow)
        if id_field is not None and id_field not in file.schema_arrow.names:
            names = ", ".join(file.schema_arrow.names)
            raise UsageError(f"{reader.path} has no column '{id_field}'.", hint=f"Its columns: {names}.")
        columns = [column] if id_field in (None, column) else [column, str(id_field)]
        groups, skip = reader.groups(file.metadata, start)
        for batch in parquet_batches(file, min(count, _AT_ONCE), groups, columns):
            first = min(skip, len(batch))
            skip -= first
            batch = batch.slice(first, left)
            if len(batch):
                ids = None if id_field is None else batch.column(id_field).to_pylist()
                parts.append(_of_column(batch.column(column), dimension, ids))
                left -= len(batch)
            if not left:
                break
    return Rows.join(parts, dimension)


def _of_column(values: Any, dimension: int, ids: list[Any] | None) -> Rows:
    compute = require("pyarrow.compute", extra="parquet", purpose="Reading Parquet")
    there = ~np.asarray(values.is_null())  # [n]
    lengths = np.asarray(compute.list_value_length(values).fill_null(0))  # [n]
    flat = as_floats(values.flatten().to_numpy(zero_copy_only=False))  # without those of null rows
    if there.all() and (lengths == dimension).all():
        return Rows(flat.reshape(len(values), dimension), [None] * len(values), ids)
    ends = np.cumsum(np.where(there, lengths, 0))  # [n]
    pieces = [
        flat[end - length : end] if full else None
        for full, length, end in zip(there.tolist(), lengths.tolist(), ends.tolist(), strict=True)
    ]
    return _fitted(pieces, dimension, ids)
