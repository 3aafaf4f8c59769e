"""Rows of recovered texts as a Parquet table: the same columns in one file and in a folder of parts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import IO, Any

from unembed.extras import require

_ROW_GROUP = 8192


def write_table(file: IO[bytes], rows: Iterable[dict[str, Any]], *, with_ids: bool = False) -> None:
    """Rows as `as_row` makes them, into a Parquet file; `with_ids`: they have a dataset's ids, as strings."""
    arrow = require("pyarrow", extra="parquet", purpose="Writing Parquet")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Writing Parquet")
    tokens = arrow.list_(arrow.int32())
    other = arrow.struct([("text", arrow.string()), ("tokens", tokens), ("score", arrow.float64())])
    schema = arrow.schema(
        [
            ("index", arrow.int64()),
            *([("id", arrow.string())] if with_ids else []),
            ("text", arrow.string()),
            ("tokens", tokens),
            ("score", arrow.float64()),
            ("forward_passes", arrow.int32()),
            ("length_known", arrow.bool_()),
            ("alternatives", arrow.list_(other)),
            ("encoder_calls", arrow.int32()),
            ("cosine", arrow.float64()),
            ("error", arrow.string()),
        ]
    )
    with parquet.ParquetWriter(file, schema) as writer:
        waiting = iter(rows)
        while block := list(islice(waiting, _ROW_GROUP)):
            writer.write_table(arrow.Table.from_pylist(block, schema=schema))
