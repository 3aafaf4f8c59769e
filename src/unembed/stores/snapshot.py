"""A temporary copy of a local store, for clients that write to whatever they open.

Chroma compacts its files when it reads them, Milvus Lite locks its folder and builds indexes. The store must
not change, so they are given a copy, which is removed afterwards.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from unembed.errors import UnavailableError

_SPARE = 64 << 20  # bytes that a client may add to the copy


class Snapshot:
    """A copy of a file or folder in the system's temporary folder, until `remove`."""

    def __init__(self, source: Path, *, name: str | None = None, beside: tuple[Path, ...] = ()) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="unembed-"))
        self.path = self._folder / (name or source.name)
        try:
            self._check_room(source)
            if source.is_dir():
                shutil.copytree(source, self.path, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(source, self.path)
                for file in beside:
                    shutil.copyfile(file, self._folder / file.name)
        except BaseException as error:
            self.remove()
            if isinstance(error, (OSError, shutil.Error)):
                raise UnavailableError(
                    f"{source} cannot be copied, which reading it takes: {error}",
                    hint="Check the rights to read it; TMPDIR names the folder of temporary copies.",
                ) from error
            raise

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _check_room(self, source: Path) -> None:
        size = sum(file.stat().st_size for file in [source, *source.rglob("*")] if file.is_file())
        free = shutil.disk_usage(self._folder).free
        if size + _SPARE > free:
            raise UnavailableError(
                f"{source} has {size / 1e9:.1f} GB and is read from a copy; "
                f"{self._folder.parent} has room for {free / 1e9:.1f} GB.",
                hint="Set TMPDIR to a folder with more room.",
            )
