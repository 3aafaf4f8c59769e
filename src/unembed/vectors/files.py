"""Vectors out of a file: .npy, .npz, Parquet, JSON lines, safetensors, a FAISS index, or standard input.

Every reader gives blocks of float32 vectors from any row on, and never holds more than a block where
the format allows it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from unembed.errors import DataError, UsageError
from unembed.vectors.arrays import Floats

STDIN = "-"
BLOCK = 1024
FAISS = (".faiss", ".index")
PARQUET = (".parquet", ".pq")
SUFFIXES = (".npy", ".npz", ".safetensors", *FAISS, *PARQUET, ".jsonl", ".ndjson", ".json")
_HEAD = 1 << 20


class Reader(Protocol):
    """One format."""

    def count(self) -> int | None:
        """How many vectors there are; None where only reading on can tell."""

    def blocks(self, start: int, size: int) -> Iterator[Floats]:
        """Blocks [n, D] of at most `size` vectors, from row `start` on."""


@dataclass(frozen=True)
class VectorFile:
    """An opened source of vectors."""

    name: str
    reader: Reader
    identity: str  # changes when the file does; of standard input nothing is known

    def count(self) -> int | None:
        return self.reader.count()

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Floats]:
        """Blocks of vectors; a source without a single vector is an error."""
        empty = start == 0
        for block in self.reader.blocks(start, size):
            if len(block):
                empty = False
                yield block
        if empty:
            raise DataError(f"{self.name} holds no vectors.")


def open_vectors(source: str | Path, *, field: str | None = None) -> VectorFile:
    """Open a file by its suffix, or `-` for JSON lines on standard input.

    `field` names the array, column or key that holds the vectors, where there are several.
    """
    from unembed.vectors import random_access, streamed

    if str(source) == STDIN:
        return VectorFile("standard input", streamed.JsonLines(None, field), STDIN)
    path = existing_file(source)
    suffix = path.suffix.lower()
    reader: Reader
    if suffix == ".npy":
        reader = random_access.npy(path)
    elif suffix == ".npz":
        reader = random_access.npz(path, field)
    elif suffix == ".safetensors":
        reader = random_access.safetensors(path, field)
    elif suffix in FAISS:
        reader = random_access.faiss(path)
    elif suffix in PARQUET:
        reader = streamed.Parquet(path, field)
    else:
        reader = streamed.JsonLines(path, field)
    return VectorFile(str(path), reader, file_identity(path))


def existing_file(source: str | Path, *, any_suffix: bool = False) -> Path:
    """The path of a file that is there, is not empty and has a suffix that is known; else an error."""
    path = Path(source)
    if not path.exists():
        raise UsageError(
            f"There is no file {path}.", hint="Give a file of vectors, or '-' for JSON lines on stdin."
        )
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file of vectors.", hint="Give one of its files.")
    if not path.stat().st_size:
        raise DataError(f"{path} is empty.")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES and not any_suffix:
        raise UsageError(
            f"{path.name}: vectors are not read from '{suffix or 'a file without a suffix'}'.",
            hint="Formats: .npy, .npz, .parquet, .jsonl, .safetensors, .faiss; '-' is JSON lines on stdin.",
        )
    return path


def file_identity(path: Path) -> str:
    """Size and both ends: enough to notice another file, without reading a million vectors."""
    size = path.stat().st_size
    with path.open("rb") as file:
        sha = hashlib.sha256(f"{size}".encode())
        sha.update(file.read(_HEAD))
        file.seek(max(0, size - _HEAD))
        sha.update(file.read(_HEAD))
    return sha.hexdigest()
