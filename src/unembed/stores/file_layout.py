"""What a file of vectors holds, from its header or its first records: arrays and columns, texts, ids."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from unembed.data.readers import json_records
from unembed.errors import DataError
from unembed.extras import require
from unembed.stores.base import VectorField
from unembed.stores.fields import choose_id, metadata
from unembed.vectors.files import PARQUET
from unembed.vectors.streamed import parquet_batches

_FIRST = 100  # records of a JSON lines file that are looked at
_PARQUET_OWN = ("ARROW:schema", "pandas")  # not what people wrote there
Labels = Iterator[tuple[str | None, str | None]]  # id and text of each row


@dataclass(frozen=True)
class Layout:
    """The fields of a file."""

    vectors: tuple[VectorField, ...]
    texts: tuple[str, ...] = ()
    id: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


def read_layout(path: Path) -> Layout:
    """The layout of a file that `vectors.files.open_vectors` reads."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _npz(path)
    if suffix == ".safetensors":
        return _safetensors(path)
    if suffix in PARQUET:
        return _parquet(path)
    if suffix == ".npy":
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return Layout((VectorField("", int(array.shape[-1]), str(array.dtype)),))
    return _json_lines(path)


def labels(path: Path, ids: str | None, texts: str | None) -> Labels:
    """Id and text of every row in order, None where the file has none; endless where it has neither."""
    suffix = path.suffix.lower()
    if ids is None and texts is None:
        while True:
            yield None, None
    elif suffix in PARQUET:
        parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
        columns = [name for name in dict.fromkeys((ids, texts)) if name is not None]
        with parquet.ParquetFile(path) as file:
            for batch in parquet_batches(file, 1024, range(file.num_row_groups), columns):
                found = {name: batch.column(name).to_pylist() for name in columns}
                none = [None] * len(batch)
                for one, text in zip(found.get(ids or "", none), found.get(texts or "", none), strict=True):
                    yield _name(one), _text(text)
    elif suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            for text in archive[texts]:
                yield None, _text(str(text))
    else:
        for _, record in json_records(path):
            found = record if isinstance(record, dict) else {}
            yield _name(found.get(ids or "")), _text(found.get(texts or ""))


def _npz(path: Path) -> Layout:
    """Shapes and types from the headers: nothing is unpacked."""
    vectors, texts = [], []
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as file:
                    version = np.lib.format.read_magic(file)
                    read = (
                        np.lib.format.read_array_header_1_0
                        if version == (1, 0)
                        else np.lib.format.read_array_header_2_0
                    )
                    shape, _, dtype = read(file)
                name = name.removesuffix(".npy")
                if dtype.kind in "fiu" and len(shape) == 2:
                    vectors.append(VectorField(name, shape[1], str(dtype)))
                elif dtype.kind == "U" and len(shape) == 1:
                    texts.append(name)
    except (zipfile.BadZipFile, ValueError) as error:
        raise DataError(f"{path} is damaged: {error}", hint="Copy or save the file again.") from error
    return Layout(tuple(vectors), tuple(texts))


def _safetensors(path: Path) -> Layout:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            slices = {name: file.get_slice(name) for name in names}
            vectors = tuple(
                VectorField(name, one.get_shape()[-1], _SAFETENSORS.get(one.get_dtype(), one.get_dtype()))
                for name, one in slices.items()
                if len(one.get_shape()) in (1, 2)
            )
            found = file.metadata() or {}
    except SafetensorError as error:
        raise DataError(
            f"{path} is not a whole safetensors file: {error}", hint="Copy or save the file again."
        ) from error
    return Layout(vectors, metadata=metadata(found))


_SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I8": "int8",
    "U8": "uint8",
}


def _parquet(path: Path) -> Layout:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    from pyarrow.lib import ArrowException

    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error
    own = {name.decode(): value.decode() for name, value in (schema.metadata or {}).items()}
    found = {name: value for name, value in own.items() if name not in _PARQUET_OWN}
    return Layout(*arrow_fields(schema), choose_id(schema.names), metadata(found))


def arrow_fields(schema: Any) -> tuple[tuple[VectorField, ...], tuple[str, ...]]:
    """The columns of lists of numbers, and the columns of texts, of an Arrow schema."""
    types = require("pyarrow.types", extra="parquet", purpose="Reading Arrow tables")
    vectors, texts = [], []
    for column in schema:
        kind = column.type
        fixed = types.is_fixed_size_list(kind)
        if fixed or types.is_list(kind) or types.is_large_list(kind):
            number = kind.value_type
            if types.is_floating(number) or types.is_integer(number):
                vectors.append(
                    VectorField(
                        column.name, kind.list_size if fixed else None, _DTYPES.get(str(number), str(number))
                    )
                )
            elif types.is_list(number) or types.is_fixed_size_list(number) or types.is_large_list(number):
                vectors.append(VectorField(column.name, None, str(number.value_type), obstacle=MULTI))
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            texts.append(column.name)
    return tuple(vectors), tuple(texts)


_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}
MULTI = "a row has several vectors (one per token, say), and no model inverts their mean"


def _json_lines(path: Path) -> Layout:
    records = [record for _, record in islice(json_records(path), _FIRST)]
    if records and isinstance(records[0], list):
        return Layout((VectorField("", len(records[0]), "float64"),))
    vectors: dict[str, VectorField] = {}
    texts: dict[str, None] = {}
    for record in records:
        for name, value in record.items() if isinstance(record, dict) else ():
            if isinstance(value, list) and value and all(type(x) in (int, float, type(None)) for x in value):
                vectors.setdefault(name, VectorField(name, len(value), "float64"))
            elif isinstance(value, list) and value and isinstance(value[0], list):
                vectors.setdefault(name, VectorField(name, None, "float64", obstacle=MULTI))
            elif isinstance(value, str):
                texts.setdefault(name)
    names = dict.fromkeys(name for record in records if isinstance(record, dict) for name in record)
    return Layout(tuple(vectors.values()), tuple(texts), choose_id(list(names)))


def _name(value: Any) -> str | None:
    return None if value is None else str(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
