"""A file or folder at an fsspec address (`s3://bucket/folder`), with the methods of `Path` that are needed.

fsspec finds the library that speaks the protocol (s3fs, gcsfs, ...), and names the one that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from unembed.errors import MissingExtraError, UnavailableError
from unembed.storage import digest_json


@dataclass(frozen=True)
class RemotePath:
    """One address."""

    address: str

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.address.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.address).suffix

    @cached_property
    def _found(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        import fsspec

        try:
            found: tuple[Any, str] = fsspec.core.url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise MissingExtraError(f"{self.address} cannot be opened: {error}") from error
        return found

    def open(self, mode: str = "rb") -> IO[bytes]:
        files, path = self._found
        return cast("IO[bytes]", files.open(path, mode))

    def exists(self) -> bool:
        files, path = self._found
        return bool(self._ask(files.exists, path))

    def is_dir(self) -> bool:
        files, path = self._found
        return bool(self._ask(files.isdir, path))

    def size(self) -> int:
        files, path = self._found
        return int(self._ask(files.size, path) or 0)

    def version(self) -> str:
        """Changes when the file does, as far as the store tells."""
        files, path = self._found
        info = self._ask(files.info, path)
        return digest_json([info.get("size"), str(info.get("ETag") or info.get("mtime") or "")])

    def read_bytes(self) -> bytes:
        files, path = self._found
        return cast("bytes", self._ask(files.cat_file, path))

    def write_bytes(self, data: bytes) -> None:
        """Whole or absent: an object store shows an object only when all of it has arrived."""
        files, path = self._found
        if not files.isdir(files._parent(path)):
            files.makedirs(files._parent(path), exist_ok=True)
        self._ask(files.pipe_file, path, data)

    def names(self) -> list[str]:
        """What lies in this folder, sorted; nothing where there is no such folder."""
        files, path = self._found
        files.invalidate_cache()
        if not files.exists(path):
            return []
        return sorted(PurePosixPath(one).name for one in self._ask(files.ls, path, detail=False))

    def _ask(self, call: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except OSError as error:
            raise UnavailableError(
                f"{self.address} does not answer: {error}",
                hint="Check the address and the credentials in the environment.",
            ) from error


Location = Path | RemotePath


def locate(address: str | Path) -> Location:
    """A local path, or an address with a protocol; `file://` is local."""
    text = str(address)
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))
    return RemotePath(text) if "://" in text else Path(text)


def file_size(path: Location) -> int:
    return path.size() if isinstance(path, RemotePath) else path.stat().st_size


def file_names(folder: Location) -> list[str]:
    """The names in a folder, sorted."""
    if isinstance(folder, RemotePath):
        return folder.names()
    return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
