"""One shard: arrays in `.npy` files, and a record that is written last and makes the shard count.

shards/00000.tokens.npy     uint16 or uint32 [n, longest], padded
shards/00000.lengths.npy    uint16 [n]
shards/00000.vectors.npy    float16 [n, D]
shards/00000.keys.npy       uint64 [n], what the split goes by
shards/00000.languages.npy  uint8 [n], index into the manifest's languages
shards/00000.json           the record
"""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from unembed.data.manifest import FileEntry, ShardEntry, size_problem
from unembed.errors import DataError
from unembed.storage import atomic_write, digest_bytes, read_json, write_json

SHARDS = "shards"
ARRAYS = ("tokens", "lengths", "vectors", "keys", "languages")

_log = logging.getLogger(__name__)


def shard_name(index: int) -> str:
    return f"{index:05d}"


def array_path(folder: Path, shard: str, array: str) -> Path:
    return folder / SHARDS / f"{shard}.{array}.npy"


def write_shard(folder: Path, name: str, arrays: dict[str, NDArray[Any]], **record: Any) -> ShardEntry:
    """Write the arrays, each whole or absent, then the record."""
    files = []
    for array in ARRAYS:
        path = array_path(folder, name, array)
        # Through memory: np.save on a file object does not say why a write failed.
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(arrays[array]), allow_pickle=False)
        data = buffer.getvalue()
        with atomic_write(path) as file:
            file.write(data)
        files.append(FileEntry(name=f"{SHARDS}/{path.name}", bytes=len(data), sha256=digest_bytes(data)))
    entry = ShardEntry(name=name, files=tuple(files), **record)
    write_json(_record_path(folder, name), entry.model_dump(mode="json"))
    return entry


def finished_shard(folder: Path, name: str) -> ShardEntry | None:
    """The record of a shard that is whole; None for one that is missing, half written or truncated."""
    path = _record_path(folder, name)
    if not path.exists():
        return None
    try:
        entry = ShardEntry.model_validate(read_json(path))
    except (DataError, ValidationError):
        _log.warning("%s is damaged; the shard is made again.", path)
        return None
    for file in entry.files:
        problem = size_problem(folder, file)
        if problem:
            _log.warning("%s %s; the shard is made again.", folder / file.name, problem)
            return None
    return entry


def shard_keys(folder: Path, entry: ShardEntry) -> NDArray[np.uint64]:
    """The keys of a finished shard's texts."""
    path = array_path(folder, entry.name, "keys")
    try:
        keys: NDArray[np.uint64] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(
            f"{path} is damaged: {error}.",
            hint=f"Delete {folder / SHARDS / entry.name}.* and run the same command again.",
        ) from error
    return keys


def _record_path(folder: Path, name: str) -> Path:
    return folder / SHARDS / f"{name}.json"
