"""Files and folders that are either whole or absent."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from unembed.errors import UnavailableError

# No space left, no quota left, or a limit on the size of files.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary neighbour, flush it to the disk, then rename it over `path`.

    A reader sees the old file or the new one, never half of one; a kill leaves at most a
    `.partial` file, which the next write of the same path replaces.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        partial.unlink(missing_ok=True)
        if error.errno in FULL:
            raise UnavailableError(
                f"The disk is full: {path} could not be written; what was there before is untouched.",
                hint="Free some space and run the same command again.",
            ) from error
        raise
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Fill a temporary neighbour, then swap it for `folder`: a kill leaves one of the two whole."""
    fresh = folder.with_name(folder.name + ".partial")
    old = folder.with_name(folder.name + ".old")
    if old.exists() and not folder.exists():
        old.rename(folder)  # an earlier swap was cut in two
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        yield fresh
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Make a rename inside `folder` survive a power cut (a no-op where folders cannot be synced)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented UTF-8 JSON, atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False)
    with atomic_write(path) as file:
        file.write(text.encode() + b"\n")
