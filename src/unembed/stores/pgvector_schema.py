"""What PostgreSQL's catalogue says about tables with vectors: columns, keys, indexes, comments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from unembed.stores.base import VectorField
from unembed.stores.fields import choose_id, metadata
from unembed.stores.qdrant_fields import SPARSE

Fetch = Callable[..., list[Any]]

_COLUMNS = """
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       obj_description(c.oid, 'pg_class'), col_description(c.oid, a.attnum),
       coalesce(i.indnatts = 1 AND a.attnum = i.indkey[0], false)
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%%'
ORDER BY n.nspname, c.relname, a.attnum
"""
_INDEXES = """
SELECT a.attname, o.opcname
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
JOIN pg_opclass o ON o.oid = i.indclass[0]
WHERE n.nspname = %s AND c.relname = %s
"""
_TYPE = re.compile(r"(?:\w+\.)?(vector|halfvec|sparsevec|real\[\]|double precision\[\])(?:\((\d+)\))?")
_DTYPES = {
    "vector": "float32", "halfvec": "float16", "sparsevec": "float32", "real[]": "float32",
    "double precision[]": "float64",
}  # fmt: skip
_METRICS = {"cosine": "cosine", "l2": "l2", "ip": "dot", "l1": "l1"}
_TEXTS = ("text", "character varying", "character", "citext")


@dataclass(frozen=True)
class Table:
    """A table or a view, as far as its reader needs to know."""

    schema: str
    relation: str
    columns: tuple[str, ...]
    vectors: tuple[VectorField, ...]
    texts: tuple[str, ...]
    id: str | None
    comments: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.relation if self.schema == "public" else f"{self.schema}.{self.relation}"


def find_tables(fetch: Fetch) -> list[Table]:
    """Every table that is not PostgreSQL's own."""
    grouped: dict[tuple[str, str], list[Any]] = {}
    for schema, relation, *column in fetch(_COLUMNS):
        grouped.setdefault((schema, relation), []).append(column)
    return [_table(schema, relation, columns) for (schema, relation), columns in grouped.items()]


def metrics_of(fetch: Fetch, table: Table) -> tuple[VectorField, ...]:
    """The table's vectors, with the metric of an index where there is one."""
    metrics = {}
    for column, operators in fetch(_INDEXES, (table.schema, table.relation)):
        match = re.fullmatch(r"(?:vector|halfvec)_(\w+)_ops", operators)
        if match:
            metrics[column] = _METRICS.get(match[1])
    return tuple(replace(one, metric=metrics.get(one.name)) for one in table.vectors)


def _table(schema: str, relation: str, columns: list[Any]) -> Table:
    vectors, texts, comments = [], [], {}
    key = None
    for name, kind, table_comment, comment, is_key in columns:
        if match := _TYPE.fullmatch(kind):
            sparse = SPARSE if match[1] == "sparsevec" else None
            width = int(match[2]) if match[2] else None
            vectors.append(VectorField(name, width, _DTYPES[match[1]], obstacle=sparse))
            comments[f"comment of {name}"] = comment
        elif kind.split("(")[0] in _TEXTS:
            texts.append(name)
        key = name if is_key else key
        comments["comment"] = table_comment
    names = tuple(column[0] for column in columns)
    return Table(
        schema, relation, names, tuple(vectors), tuple(texts), key or choose_id(names), metadata(comments)
    )
