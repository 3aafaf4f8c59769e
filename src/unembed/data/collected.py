"""Collected texts: gzipped JSON lines in a fixed order, readable from any position."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from unembed.data.manifest import TextFile, TextsManifest, check_sizes, read_manifest
from unembed.errors import DataError
from unembed.storage import digest_json


class CollectedTexts:
    """A folder that `unembed prepare collect` made: texts for any encoder."""

    def __init__(self, folder: Path, manifest: TextsManifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._stream: Iterator[tuple[str, str]] = iter(())
        self._position = -1

    @classmethod
    def open(cls, folder: Path | str) -> CollectedTexts:
        """Read the manifest and check that every file is there in full length."""
        folder = Path(folder)
        manifest, _ = read_manifest(folder, TextsManifest)
        check_sizes(folder, manifest.files)
        return cls(folder, manifest)

    def __len__(self) -> int:
        return self.manifest.texts

    @property
    def digest(self) -> str:
        """Identifies the texts and their order: of the contents, wherever they came from."""
        return digest_json([file.sha256 for file in self.manifest.files])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._from(0)

    def read(self, start: int, count: int) -> list[tuple[str, str]]:
        """Up to `count` pairs of text and language, from text number `start`; cheapest in order."""
        if start != self._position:
            self._stream = self._from(start)
        block = list(islice(self._stream, count))
        self._position = start + len(block)
        return block

    def _from(self, start: int) -> Iterator[tuple[str, str]]:
        for file in self.manifest.files:
            if start >= file.texts:
                start -= file.texts
                continue
            yield from islice(self._file(file), start, None)
            start = 0

    def _file(self, file: TextFile) -> Iterator[tuple[str, str]]:
        path = self.folder / file.name
        try:
            with gzip.open(path, "rb") as lines:
                for line in lines:
                    record = json.loads(line)
                    yield record["text"], record["lang"]
        except (EOFError, OSError, zlib.error, ValueError, KeyError) as error:
            raise DataError(
                f"{path} is damaged: {error}", hint=f"'unembed data verify {self.folder}' lists all damage."
            ) from error
