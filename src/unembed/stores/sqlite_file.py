"""Opening a SQLite file so that neither it nor the folder around it changes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from unembed.stores.snapshot import Snapshot

_MAGIC = b"SQLite format 3\0"
_WAL = 2  # of the file's format, in byte 18 of the header


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_only_uri(path: Path) -> tuple[str, Snapshot | None]:
    """The URI to open, and the copy that it names if there had to be one.

    SQLite writes files of its own beside a database with a write-ahead log, even for reading. Where the log
    is empty, the file is declared immutable; where it is not, both are copied.
    """
    with path.open("rb") as file:
        has_log = file.read(20)[18:19] == bytes([_WAL])
    if not has_log:
        return _uri(path, "mode=ro"), None
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return _uri(path, "mode=ro&immutable=1"), None
    copy = Snapshot(path, beside=(log,))
    return _uri(copy.path, "mode=ro"), copy


def _uri(path: Path, options: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{options}"
