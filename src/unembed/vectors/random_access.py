"""Formats with random access: .npy and safetensors are mapped, a FAISS index is asked, .npz is loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unembed.errors import DataError, UsageError
from unembed.extras import require
from unembed.vectors.arrays import Floats, as_floats

USUAL_NAMES = ("embedding", "embeddings", "vector", "vectors", "values", "emb", "dense")


@dataclass(frozen=True)
class Table:
    """Rows that can be read from anywhere."""

    rows: int
    read: Callable[[int, int], Any]  # from, to -> [n, D]

    def count(self) -> int:
        return self.rows

    def blocks(self, start: int, size: int) -> Iterator[Floats]:
        for first in range(start, self.rows, size):
            yield as_floats(self.read(first, min(first + size, self.rows)))


def npy(path: Path) -> Table:
    """Memory-mapped: a million vectors take no more memory than a block."""
    return _table(_load(path), str(path))


def npz(path: Path, field: str | None) -> Table:
    archive = _load(path)
    name = choose(list(archive.files), field, str(path), "array")
    try:
        return _table(archive[name], f"{path}, array '{name}',")
    except (ValueError, zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{path} is damaged: {error}", hint="Copy or save the file again.") from error


def safetensors(path: Path, field: str | None) -> Table:
    from safetensors import SafetensorError, safe_open

    try:
        file = safe_open(path, framework="pt")
        names = list(file.keys())  # type: ignore[no-untyped-call]
        rows = file.get_slice(choose(names, field, str(path), "tensor"))  # type: ignore[no-untyped-call]
        shape = rows.get_shape()
    except SafetensorError as error:
        raise DataError(
            f"{path} is not a whole safetensors file: {error}", hint="Copy or save the file again."
        ) from error
    if len(shape) == 1:
        return Table(1, lambda first, last: rows[:][None])
    _check_shape(shape, str(path))
    return Table(shape[0], lambda first, last: rows[first:last])


def faiss(path: Path) -> Table:
    """The vectors as the index stores them: exact in a flat index, approximate in a compressed one."""
    library = require("faiss", extra="faiss", purpose="Reading a FAISS index")
    try:
        index = library.read_index(str(path), library.IO_FLAG_MMAP | library.IO_FLAG_READ_ONLY)
        lists = library.try_extract_index_ivf(index)
        if lists is not None:
            lists.make_direct_map()
        if index.ntotal:
            index.reconstruct_n(0, 1)
    except RuntimeError as error:
        reason = str(error).splitlines()[0] if str(error) else "unknown"
        raise DataError(
            f"{path}: no vectors can be read from this FAISS index: {reason}",
            hint="Flat, IVF, SQ and PQ indexes work; an index that hashes its vectors does not keep them.",
        ) from error
    return Table(int(index.ntotal), lambda first, last: index.reconstruct_n(first, last - first))


def choose(names: list[str], field: str | None, where: str, what: str) -> str:
    """The one that was named, or the only one, or one with a usual name."""
    if field is not None:
        if field not in names:
            raise UsageError(f"{where} has no {what} '{field}'.", hint=f"It has: {', '.join(names)}.")
        return field
    if len(names) == 1:
        return names[0]
    usual = [name for name in names if name in USUAL_NAMES]
    if len(usual) == 1:
        return usual[0]
    raise UsageError(
        f"{where} has {len(names)} {what}s: which one holds the vectors?" if names else f"{where} is empty.",
        hint=f"Choose with --field: {', '.join(names)}." if names else None,
    )


def _load(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} cannot be read as numpy data: {error}",
            hint="Pickled object arrays are never loaded; save a plain float array with np.save.",
        ) from error


def _table(array: Any, where: str) -> Table:
    if array.ndim == 1 and array.dtype.kind in "fiu":
        array = array[None]
    _check_shape(array.shape, where)
    return Table(len(array), lambda first, last: array[first:last])


def _check_shape(shape: Any, where: str) -> None:
    if len(shape) != 2 or not shape[1]:
        raise DataError(
            f"{where} has shape {list(shape)}; vectors form a table [N, D].",
            hint="Choose another array with --field, or save one vector per row.",
        )
