"""Where texts come from: `[LANG=]PATH[#FIELD]` or `[LANG=]hub:DATASET[:CONFIG[:SPLIT]][#FIELD]`.

A path is a plain text file (one text per line), JSON lines (`.jsonl`, `.ndjson`), Parquet (`.parquet`),
each of the first two also gzipped; or a folder or a pattern of such files, read in the order of their
names.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from unembed.data import readers
from unembed.data.config import LANGUAGE
from unembed.data.hub_dataset import HubDataset
from unembed.errors import UsageError
from unembed.storage import digest_file

HUB = "hub:"
UNDETERMINED = "und"  # BCP 47's word for a language that nobody named

# Above this size a source is recognised by its size, its time of change, its head and its tail.
FULL_DIGEST_BYTES = 1 << 30
_EDGE_BYTES = 16 << 20


@dataclass(frozen=True)
class Source:
    """One source of texts in one language."""

    language: str
    field: str
    files: tuple[Path, ...] = ()
    dataset: HubDataset | None = None

    @property
    def label(self) -> str:
        """Short name for messages and plans; without folders, so that a moved corpus stays the same."""
        return self.dataset.label if self.dataset else ", ".join(file.name for file in self.files[:3])

    def fingerprint(self) -> dict[str, Any]:
        """What a later run compares to be sure that it reads the same texts."""
        if self.dataset:
            return {"language": self.language, "field": self.field, **self.dataset.fingerprint()}
        return {
            "language": self.language,
            "field": self.field if any(readers.has_fields(file) for file in self.files) else None,
            "files": {f"{number}: {file.name}": _fingerprint(file) for number, file in enumerate(self.files)},
        }

    def texts(self, *, skip: int = 0) -> Iterator[str]:
        """The texts in order, without the first `skip`."""
        if self.dataset:
            yield from self.dataset.texts(self.field, skip=skip)
            return
        for file in self.files:
            count = 0
            for text in readers.read_file(file, self.field):
                count += 1
                if count > skip:
                    yield text
            skip = max(0, skip - count)


def parse_source(spec: str, *, field: str) -> Source:
    """A source from what was typed; a file that is not there is an error now, not in an hour."""
    language, location = UNDETERMINED, spec
    before, equals, after = spec.partition("=")
    if equals and LANGUAGE.fullmatch(before) and not Path(spec).exists():
        language, location = before, after
    if not location:
        raise UsageError(
            f"'{spec}' names no source.", hint="Write [LANG=]PATH, for example en=corpus.txt.gz."
        )
    if "#" in location and not Path(location).exists():
        location, _, field = location.rpartition("#")
    if location.startswith(HUB):
        dataset = HubDataset.parse(location.removeprefix(HUB), language=language)
        return Source(language, field, dataset=dataset)
    return Source(language, field, files=_files(location))


def _files(location: str) -> tuple[Path, ...]:
    path = Path(location).expanduser()
    if path.is_file():
        return (path,)
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not found:
            raise UsageError(
                f"The folder {path} has no files.", hint="Give a file, or a folder that holds some."
            )
        return tuple(found)
    matches = sorted(Path(match) for match in glob.glob(str(path)) if Path(match).is_file())
    if not matches:
        raise UsageError(
            f"There is no file {path}.",
            hint="A source is [LANG=]PATH; texts from the Hugging Face hub are [LANG=]hub:DATASET.",
        )
    return tuple(matches)


def _fingerprint(file: Path) -> dict[str, Any]:
    status = file.stat()
    if status.st_size <= FULL_DIGEST_BYTES:
        return {"bytes": status.st_size, "sha256": digest_file(file)}
    with file.open("rb") as handle:
        edges = sha256(handle.read(_EDGE_BYTES))
        handle.seek(-_EDGE_BYTES, 2)
        edges.update(handle.read())
    return {"bytes": status.st_size, "changed": status.st_mtime_ns, "edges_sha256": edges.hexdigest()}
