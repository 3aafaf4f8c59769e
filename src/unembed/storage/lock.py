"""One run per folder or file: a lock that dies with the process that holds it, `kill -9` included."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unembed.errors import UsageError

LOCK_NAME = ".lock"


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process, or say that another run is writing to it.

    The operating system keeps the lock, not the file: a lock file that is left behind locks nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = _hold(folder / LOCK_NAME, folder, "Wait until it has finished, or give another output folder.")
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an output file for this process, or say that another run is writing it.

    The lock is a hidden file beside `path`, which is removed afterwards: `path` itself need not exist.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}{LOCK_NAME}")
    handle = _hold(lock, path, "Wait until it has finished, or give another output.")
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove an open file
            lock.unlink()
        os.close(handle)


def _hold(lock: Path, held: Path, hint: str) -> int:
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _take(handle)
        except OSError as error:
            os.close(handle)
            raise UsageError(f"Another run is writing to {held}.", hint=hint) from error
        # Another run may have removed the file between the two calls: then this lock guards nothing.
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), lock.stat()):
                return handle
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
