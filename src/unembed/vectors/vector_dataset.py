"""Many files of vectors as one table: a folder, a file, or an address; rows numbered through.

Files are sorted by name. Any range of rows can be read, by whoever has the same description of the dataset.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

from unembed.errors import DataError, UsageError
from unembed.storage import digest_json
from unembed.vectors.dataset_rows import Rows, read_rows
from unembed.vectors.files import PARQUET, STDIN, SUFFIXES, Reader, file_identity, open_vectors
from unembed.vectors.remote_path import Location, RemotePath, file_names, file_size, locate
from unembed.vectors.streamed import JsonLines, Parquet

JSON_LINES = (".jsonl", ".ndjson", ".json")
REMOTE = (*JSON_LINES, *PARQUET)


class DatasetFile(BaseModel):
    """One file, and where its rows begin in the whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    rows: int
    identity: str
    # Of JSON lines: rows whose line begins at a known byte, so that no part reads what comes before it.
    offsets: tuple[tuple[int, int], ...] = ((0, 0),)

    def reader(self, field: str | None) -> Reader:
        path, suffix = locate(self.address), _suffix(self.address)
        if suffix in PARQUET:
            return Parquet(path, field)
        return JsonLines(path, field) if suffix in JSON_LINES else open_vectors(str(path), field=field).reader


class VectorDataset(BaseModel):
    """The files, opened and counted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    field: str | None
    id_field: str | None
    files: tuple[DatasetFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def identity(self) -> str:
        """Changes when the vectors do, not when the same files lie elsewhere."""
        return digest_json([[file.identity, file.rows] for file in self.files])

    def read(self, start: int, count: int, dimension: int) -> Rows:
        """Rows `start` to `start + count - 1`, whichever files hold them."""
        parts, first = [], 0
        for file in self.files:
            low, high = max(start, first), min(start + count, first + file.rows)
            if low < high:
                row = low - first
                offset = max(one for one in file.offsets if one[0] <= row)
                reader = file.reader(self.field)
                found = read_rows(reader, row, high - low, dimension, id_field=self.id_field, offset=offset)
                if len(found.reasons) != high - low:
                    raise DataError(
                        f"{file.address} has fewer rows than before: it changed while it was read.",
                        hint="Give another output, and leave the files alone until the run has ended.",
                    )
                parts.append(found)
            first += file.rows
        return Rows.join(parts, dimension)


def open_dataset(
    source: str, *, field: str | None = None, id_field: str | None = None, step: int = 4096
) -> VectorDataset:
    """Find the files and count their rows. From multiples of `step` on, rows can be read by themselves.

    Parquet says how many rows it has; JSON lines are read once to count them.
    """
    if source == STDIN:
        raise UsageError(
            "Standard input cannot be read by several workers.", hint="Save the vectors to a file first."
        )
    files: list[DatasetFile] = []
    first = 0
    for path in _paths(source):
        rows, offsets = _count(path, field, first, step)
        if rows:
            files.append(
                DatasetFile(
                    address=_absolute(path),
                    rows=rows,
                    identity=file_identity(path) if isinstance(path, Path) else path.version(),
                    offsets=offsets,
                )
            )
        first += rows
    if not first:
        raise DataError(f"{source} holds no vectors.")
    return VectorDataset(name=source, field=field, id_field=id_field, files=tuple(files))


def is_dataset(source: str) -> bool:
    """Whether this is more than one local file of vectors: a folder, or an address."""
    path = locate(source)
    return source != STDIN and (isinstance(path, RemotePath) or path.is_dir())


def _paths(source: str) -> Iterator[Location]:
    path = locate(source)
    known = REMOTE if isinstance(path, RemotePath) else SUFFIXES
    if not path.exists():
        raise UsageError(f"There is no file or folder {source}.")
    if not path.is_dir():
        if _suffix(source) not in known:
            raise UsageError(f"{source}: a dataset is made of {', '.join(known)}.")
        yield path
        return
    names = [name for name in file_names(path) if not name.startswith((".", "_")) and _suffix(name) in known]
    if not names:
        raise DataError(f"{source} holds no file of vectors.", hint=f"Suffixes: {', '.join(known)}.")
    yield from (path / name for name in names)


def _suffix(name: str) -> str:
    """The suffix, without the .gz of zipped JSON lines."""
    pure = PurePosixPath(name.lower())
    return PurePosixPath(pure.stem).suffix if pure.suffix == ".gz" else pure.suffix


def _count(
    path: Location, field: str | None, first: int, step: int
) -> tuple[int, tuple[tuple[int, int], ...]]:
    """How many rows a file has whose first one is row `first` of all, and its offsets."""
    start = ((0, 0),)
    if _suffix(str(path)) not in JSON_LINES:
        if not file_size(path):
            raise DataError(f"{path} is empty.")
        reader = DatasetFile(address=str(path), rows=0, identity="").reader(field)
        return int(reader.count() or 0), start
    offsets, row, byte = list(start), 0, 0
    with JsonLines(path, field).opened() as file:
        seeks = not isinstance(file, gzip.GzipFile)
        for line in file:
            if line.strip():
                if seeks and (first + row) % step == 0:
                    offsets.append((row, byte))
                row += 1
            byte += len(line)
    return row, tuple(dict.fromkeys(offsets))


def _absolute(path: Location) -> str:
    return str(path.resolve()) if isinstance(path, Path) else str(path)
