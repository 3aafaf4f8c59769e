"""Rows out of Arrow tables: what DuckDB and LanceDB hand out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unembed.errors import DataError
from unembed.stores.base import Row
from unembed.vectors.arrays import as_floats


class Columns(NamedTuple):
    """Names of the columns; an id that is None is the row's number."""

    id: str | None
    vector: str
    text: str | None


def arrow_rows(batch: Any, columns: Columns, first: int, where: str) -> list[Row]:
    """The rows of a record batch that have a vector; `first` is the number of its first row."""
    values = batch.column(columns.vector)
    present = np.flatnonzero(~np.asarray(values.is_null()))  # [k]
    if not len(present):
        return []
    dense = values.drop_null()
    flat = as_floats(dense.flatten().to_numpy(zero_copy_only=False))
    width = len(flat) // len(present)
    lengths = np.asarray(dense.value_lengths()) if hasattr(dense, "value_lengths") else None
    if not width or len(flat) % len(present) or (lengths is not None and (lengths != width).any()):
        raise DataError(
            f"{where}, column '{columns.vector}', has vectors of different dimensions after row {first}.",
            hint="All vectors of a column must come from one encoder.",
        )
    vectors = flat.reshape(len(present), width)  # [k, D]
    ids = None if columns.id is None else batch.column(columns.id).to_pylist()
    texts = None if columns.text is None else batch.column(columns.text).to_pylist()
    rows = []
    for number, row in enumerate(present.tolist()):
        name = None if ids is None else ids[row]
        text = None if texts is None else texts[row]
        rows.append(Row(str(first + row if name is None else name), vectors[number], text or None))
    return rows
