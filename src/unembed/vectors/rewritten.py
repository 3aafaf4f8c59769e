"""A file of vectors written again with other vectors: everything else in it stays, in constant memory.

A new vector may have another dimension. Numbers become float32. An .npz archive is the exception to constant
memory: its array is loaded, as everywhere.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from unembed.errors import DataError, UsageError
from unembed.extras import require
from unembed.progress import Progress
from unembed.storage import atomic_write, file_lock
from unembed.vectors.arrays import Floats
from unembed.vectors.files import PARQUET, VectorFile, open_vectors
from unembed.vectors.random_access import choose
from unembed.vectors.streamed import JsonLines, Parquet, parquet_batches

Change = Callable[[Floats], Floats]  # [n, D] -> [n, D']
BLOCK = 4096
_JSON = (".jsonl", ".ndjson", ".json")
_ENDINGS = {".npz": (".npz",), ".safetensors": (".safetensors",), ".parquet": PARQUET, ".pq": PARQUET}


def rewrite_vectors(
    source: Path,
    output: Path,
    change: Change,
    *,
    progress: Progress,
    field: str | None = None,
    finish: Callable[[], None] | None = None,
) -> int:
    """Write `output` as `source` with changed vectors; how many there were.

    The output has the source's format, or is an .npy file of the vectors alone. It is whole or absent;
    `finish` is called when all of it is written, before it appears.
    """
    opened = open_vectors(source, field=field)
    write = _writer(source, output)
    with file_lock(output), atomic_write(output) as file:
        rows = write(opened, _Counted(change, opened.name, progress), file, field)
        if finish is not None:
            finish()
    return rows


def check_output(source: Path, output: Path) -> None:
    """Raise an error unless such an output can be made of such a source, and would replace nothing."""
    _writer(source, output)
    if output.exists():
        same = source.exists() and output.samefile(source)
        raise UsageError(
            f"{output} is the input itself." if same else f"{output} is already there.",
            hint="Give another output, so that the clean vectors stay until you delete them."
            if same
            else "Give another output, or delete it first.",
        )


def _writer(source: Path, output: Path) -> Callable[[VectorFile, _Counted, IO[bytes], str | None], int]:
    given, wanted = source.suffix.lower(), output.suffix.lower()
    if wanted == ".npy":
        return _write_npy
    if wanted not in _ENDINGS.get(given, _JSON if given in _JSON else ()):
        ends = " or ".join(dict.fromkeys((given if given in (*_ENDINGS, *_JSON) else ".npy", ".npy")))
        raise UsageError(
            f"{source.name} is not written as '{output.name}'.", hint=f"The output ends in {ends}."
        )
    if wanted in PARQUET:
        return _write_parquet
    if wanted == ".npz":
        return _write_npz
    return _write_safetensors if wanted == ".safetensors" else _write_json


class _Counted:
    """The change, told of row numbers: a row that is no vector is named by its place in the file."""

    def __init__(self, change: Change, name: str, progress: Progress) -> None:
        self._change, self._name, self._progress = change, name, progress
        self.rows = 0

    def __call__(self, block: Floats) -> Floats:
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(bad):
            self.refuse(int(bad[0]))
        out = np.asarray(self._change(block), "<f4")
        self.rows += len(block)
        self._progress.advance(len(block))
        return out

    def refuse(self, place: int) -> NoReturn:
        """Raise an error about the row at this place after those that were changed."""
        raise DataError(
            f"{self._name}, row {self.rows + place}, has no vector, or NaN or infinity in it.",
            hint="Leave such rows out, or embed their texts again; nothing was written.",
        )


def _blocks(opened: VectorFile, change: _Counted) -> Iterator[Floats]:
    return (change(block) for block in opened.blocks(size=BLOCK))


def _write_npy(opened: VectorFile, change: _Counted, file: IO[bytes], field: str | None) -> int:
    _write_array(file, opened, change)
    return change.rows


def _write_array(file: IO[bytes], opened: VectorFile, change: _Counted) -> None:
    """The npy format: a header that knows the shape, then rows."""
    count = opened.count()
    for number, block in enumerate(_blocks(opened, change)):
        if not number:
            header = {"descr": "<f4", "fortran_order": False, "shape": (count, block.shape[1])}
            np.lib.format.write_array_header_1_0(file, header)
        file.write(block.tobytes())


def _write_npz(opened: VectorFile, change: _Counted, file: IO[bytes], field: str | None) -> int:
    source = Path(opened.name)
    with np.load(source, allow_pickle=False) as archive:
        name = choose(list(archive.files), field, opened.name, "array")
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as after:
        for entry in before.infolist():
            # 64-bit sizes: how large the new array is, is known when it is written.
            with after.open(entry.filename, "w", force_zip64=True) as to:
                if entry.filename.removesuffix(".npy") == name:
                    _write_array(to, opened, change)
                else:
                    with before.open(entry) as kept:
                        shutil.copyfileobj(kept, to)
    return change.rows


def _write_safetensors(opened: VectorFile, change: _Counted, file: IO[bytes], field: str | None) -> int:
    """The safetensors format: the header's length, a JSON header with places, then all tensors' bytes."""
    with Path(opened.name).open("rb") as before:
        size = int.from_bytes(before.read(8), "little")
        header = json.loads(before.read(size))
        about = {"__metadata__": header.pop("__metadata__")} if "__metadata__" in header else {}
        name = choose(list(header), field, opened.name, "tensor")
        blocks = _blocks(opened, change)
        first = next(blocks)
        count = opened.count() or 0
        fresh: dict[str, Any] = dict(about)
        end = 4 * count * first.shape[1]
        fresh[name] = {"dtype": "F32", "shape": [count, first.shape[1]], "data_offsets": [0, end]}
        others = {key: value for key, value in header.items() if key != name}
        for key, value in others.items():
            start, stop = value["data_offsets"]
            fresh[key] = {**value, "data_offsets": [end, end := end + stop - start]}
        text = json.dumps(fresh, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        file.write(len(text).to_bytes(8, "little") + text)
        file.write(first.tobytes())
        for block in blocks:
            file.write(block.tobytes())
        for value in others.values():
            start, stop = value["data_offsets"]
            before.seek(8 + size + start)
            _copy(before, file, stop - start)
    return change.rows


def _write_json(opened: VectorFile, change: _Counted, file: IO[bytes], field: str | None) -> int:
    reader = opened.reader
    assert isinstance(reader, JsonLines)
    with reader.open() as lines:
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        width: int | None = None
        while some := list(islice(numbered, BLOCK)):
            vectors: list[Floats] = []
            for number, line in some:
                where = f"{opened.name}, line {number},"
                vector = reader.parse(line, where)
                if vector is None:
                    change.refuse(len(vectors))
                width = width or len(vector)
                if len(vector) != width:
                    raise DataError(f"{where} has {len(vector)} numbers; the lines before had {width}.")
                vectors.append(vector)
            for (number, line), new in zip(some, change(np.stack(vectors)), strict=True):
                record = json.loads(line)
                numbers = [float(str(x)) for x in new]  # the shortest digits that are the same float32
                if isinstance(record, dict):
                    record[reader.field_of(record, f"{opened.name}, line {number},")] = numbers
                else:
                    record = numbers
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    if not change.rows:
        raise DataError(f"{opened.name} holds no vectors.")
    return change.rows


def _write_parquet(opened: VectorFile, change: _Counted, file: IO[bytes], field: str | None) -> int:
    arrow = require("pyarrow", extra="parquet", purpose="Writing Parquet")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Writing Parquet")
    reader = opened.reader
    assert isinstance(reader, Parquet)
    writer = None
    with reader.open() as source:
        column = reader.column(source.schema_arrow)
        place = source.schema_arrow.get_field_index(column)
        fixed = arrow.types.is_fixed_size_list(source.schema_arrow.field(column).type)
        try:
            names = source.schema_arrow.names
            for batch in parquet_batches(source, BLOCK, range(source.num_row_groups), names):
                values = batch.column(place)
                if values.null_count:
                    change.refuse(int(np.argmax(values.is_null())))
                new = change(reader.table(values, column, change.rows))
                kind = arrow.list_(arrow.float32(), new.shape[1] if fixed else -1)
                flat = arrow.array(new.ravel(), arrow.float32())
                starts = arrow.array(np.arange(len(new) + 1, dtype=np.int32) * new.shape[1])
                lists = (
                    arrow.FixedSizeListArray.from_arrays(flat, new.shape[1])
                    if fixed
                    else arrow.ListArray.from_arrays(starts, flat)
                )
                schema = source.schema_arrow.set(place, arrow.field(column, kind))
                writer = writer or parquet.ParquetWriter(file, schema)
                columns = [
                    lists.cast(kind) if one == place else batch.column(one) for one in range(len(names))
                ]
                writer.write_batch(arrow.record_batch(columns, schema=schema))
        finally:
            if writer is not None:
                writer.close()
    if not change.rows:
        raise DataError(f"{opened.name} holds no vectors.")
    return change.rows


def _copy(before: IO[bytes], after: IO[bytes], count: int) -> None:
    while count:
        some = before.read(min(count, 1 << 20))
        if not some:
            raise DataError("The input is shorter than it says.", hint="Copy or save the file again.")
        after.write(some)
        count -= len(some)
