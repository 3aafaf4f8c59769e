"""One run a folder: a lock that dies with the process that holds it, `kill -9` included."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unembed.errors import UsageError

LOCK_NAME = ".lock"


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process, or say that another run is at work there.

    The operating system keeps the lock, not the file: a lock file that is left behind locks nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _take(handle)
        except OSError as error:
            raise UsageError(
                f"Another run is writing to {folder}.",
                hint="Wait until it has finished, or give another output folder.",
            ) from error
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
