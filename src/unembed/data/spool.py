"""The spool of collected texts: sorted chunks on disk, merged into one random order.

The order is an external merge sort by a hash of the text that is keyed with the seed: a shuffle in
bounded memory, which depends on the texts and the seed and on nothing else. Each chunk has a journal
that says how far the sources were read, so a run that was killed continues after its last whole chunk.
"""

from __future__ import annotations

import heapq
import json
import logging
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from unembed.errors import DataError, UsageError
from unembed.storage import atomic_write, read_json, write_json

# A chunk is kept in memory until one of these is reached.
CHUNK_TEXTS = 100_000
CHUNK_BYTES = 64 << 20

_BLOCK = 1 << 20
_HEX = 16  # a 64-bit key, in hex

_log = logging.getLogger(__name__)


class Position(BaseModel):
    """How far the sources were read, and what came of it."""

    model_config = ConfigDict(extra="forbid")

    source: int = 0
    record: int = 0
    kept: dict[str, int] = {}
    dropped: dict[str, int] = {}
    finished: bool = False


class _Journal(BaseModel):
    model_config = ConfigDict(extra="forbid")

    bytes: int
    position: Position


def spool_line(text: str, language: str, *, normalised: str, key: int, seed: int) -> bytes:
    """Order, key and record, so that sorting the bytes of the lines shuffles the texts."""
    order = blake2b(
        normalised.encode("utf-8", "surrogatepass"),
        digest_size=8,
        key=seed.to_bytes(8, "big"),
        person=b"unembed-order",
    ).hexdigest()
    record = json.dumps({"text": text, "lang": language}, ensure_ascii=False)
    return f"{order}{key:0{_HEX}x}{record}\n".encode()


class Spool:
    """The chunks of one run, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks: list[Path] = []
        self.position = Position()
        self._lines: list[bytes] = []
        self._size = 0
        while self._adopt(len(self.chunks)):
            pass

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)

    @property
    def is_full(self) -> bool:
        return len(self._lines) >= CHUNK_TEXTS or self._size >= CHUNK_BYTES

    def flush(self, position: Position) -> None:
        """Write what was added as one sorted chunk, then the journal that makes it count."""
        path = self._path(len(self.chunks))
        data = b"".join(sorted(self._lines))
        with atomic_write(path) as file:
            file.write(data)
        journal = _Journal(bytes=len(data), position=position)
        write_json(path.with_suffix(".json"), journal.model_dump(mode="json"))
        self.chunks.append(path)
        self.position = position.model_copy(deep=True)
        self._lines, self._size = [], 0

    def text_keys(self) -> Iterator[NDArray[np.uint64]]:
        """The keys of the texts in each chunk."""
        for chunk in self.chunks:
            keys = [int(line[_HEX : 2 * _HEX], 16) for line in _read_lines(chunk)]
            yield np.array(keys, dtype=np.uint64)

    def merged(self) -> Iterator[bytes]:
        """All records in the shuffled order, as JSON lines."""
        for line in heapq.merge(*(_read_lines(chunk) for chunk in self.chunks)):
            yield line[2 * _HEX :]

    def _adopt(self, index: int) -> bool:
        """Take over a chunk that an earlier run finished."""
        path = self._path(index)
        try:
            journal = _Journal.model_validate(read_json(path.with_suffix(".json")))
        except (UsageError, DataError, ValidationError):
            return False
        if not path.exists() or path.stat().st_size != journal.bytes:
            _log.warning("%s is damaged; the sources are read again from there.", path)
            return False
        self.chunks.append(path)
        self.position = journal.position
        return True

    def _path(self, index: int) -> Path:
        return self.folder / f"{index:05d}.txt"


def _read_lines(path: Path) -> Iterator[bytes]:
    """Lines of a chunk; the file is opened for each block, so any number of chunks can be merged."""
    offset, rest = 0, b""
    while True:
        with path.open("rb") as file:
            file.seek(offset)
            block = file.read(_BLOCK)
        if not block:
            break
        offset += len(block)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line + b"\n"
