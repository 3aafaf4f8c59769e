"""Files that are either whole or absent, and the digests that prove it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from unembed.errors import DataError, UnavailableError, UsageError

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


def read_json(path: Path) -> Any:
    """Read JSON, or say which file is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} is not valid JSON: {error}") from error


def digest_bytes(data: bytes) -> str:
    """The sha256 of `data`, in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """The sha256 of `value` as canonical JSON: the same for equal values, whatever their key order."""
    return digest_bytes(json.dumps(value, sort_keys=True, ensure_ascii=False).encode())


def digest_file(path: Path) -> str:
    """The sha256 of a file's contents, in hex, read in constant memory."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()
