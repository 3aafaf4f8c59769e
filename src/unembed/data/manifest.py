"""What a data folder says about itself: every file with its digest, and everything that made it.

A manifest holds nothing that changes from run to run (no dates, no paths of the output), so that the
same input and settings give the same manifest, byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unembed.data.split import SplitName
from unembed.encoders.base import EncoderInfo
from unembed.errors import DataError, UsageError
from unembed.storage import PLAN_NAME, digest_json, read_json, write_json

MANIFEST_NAME = "manifest.json"


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileEntry(Frozen):
    """One file of the folder."""

    name: str = Field(description="Path inside the folder, with forward slashes.")
    bytes: int
    sha256: str


class TextFile(FileEntry):
    """One file of collected texts."""

    texts: int


class TextsManifest(Frozen):
    """`manifest.json` of a folder of collected texts."""

    kind: Literal["texts"] = "texts"
    format: Literal[1] = 1
    texts: int = Field(description="How many texts, all languages together.")
    languages: dict[str, int] = Field(description="Texts by language.")
    dropped: dict[str, int] = Field(description="Texts read and not kept, by reason.")
    seed: int
    normalisation: int = Field(description="Version of the normalisation that duplicates were found with.")
    settings: dict[str, Any] = Field(description="Everything the texts depend on: the run's plan.")
    files: tuple[TextFile, ...]


class ShardEntry(Frozen):
    """One shard: its rows are train first, then validation, then test."""

    name: str
    texts: int = Field(description="Collected texts that this shard was made of.")
    counts: dict[SplitName, int] = Field(description="Rows by split, in the order of the rows.")
    languages: dict[str, dict[SplitName, int]]
    dropped: dict[str, int]
    realigned: int = Field(description="Rows whose tokens were replaced by those of the decoded text.")
    files: tuple[FileEntry, ...]


class TokenizerEntry(Frozen):
    name: str = Field(description="What was asked for: 'encoder', a path, a hub id.")
    digest: str = Field(description="sha256 of the folder's tokenizer.json.")
    vocabulary: int = Field(description="One more than the largest token id.")
    pad_id: int = Field(description="What fills a row after its last token.")


class PreparedManifest(Frozen):
    """`manifest.json` of a folder of training data."""

    kind: Literal["prepared"] = "prepared"
    format: Literal[1] = 1
    counts: dict[SplitName, int]
    languages: dict[str, dict[SplitName, int]]
    dropped: dict[str, int] = Field(description="Collected texts that are not in the data, by reason.")
    realigned: int
    encoder: EncoderInfo
    tokenizer: TokenizerEntry
    seq_len: int
    min_tokens: int
    max_tokens: int | None
    validation_share: float
    test_share: float
    precision: Literal["fp32", "bf16"] = Field("fp32", description="Of the training vectors.")
    seed: int = Field(description="Seed of the order of the texts.")
    normalisation: int = Field(description="Version of the normalisation that the split goes by.")
    texts: str = Field(description="Digest of the collected texts.")
    tokenizer_file: FileEntry
    shards: tuple[ShardEntry, ...]

    @property
    def files(self) -> tuple[FileEntry, ...]:
        return (self.tokenizer_file, *(file for shard in self.shards for file in shard.files))


Manifest = TypeVar("Manifest", TextsManifest, PreparedManifest)


def write_manifest(folder: Path, manifest: TextsManifest | PreparedManifest) -> None:
    """Write the manifest with its own digest in it: the last act of a run."""
    content = manifest.model_dump(mode="json")
    write_json(folder / MANIFEST_NAME, {**content, "digest": digest_json(content)})


def read_manifest(folder: Path, model: type[Manifest]) -> tuple[Manifest, str]:
    """A folder's manifest and its digest, or what is wrong with the folder."""
    content = read_content(folder)
    kind = model.model_fields["kind"].default
    if content.get("kind") != kind:
        is_texts = content.get("kind") == "texts"
        raise UsageError(
            f"{folder} holds {'collected texts' if is_texts else content.get('kind')}, "
            f"not {'collected texts' if kind == 'texts' else 'prepared data'}.",
            hint="Run 'unembed prepare encode' on it first." if is_texts else None,
        )
    digest = content.pop("digest", None)
    if digest != digest_json(content):
        raise DataError(
            f"{folder / MANIFEST_NAME} was changed after it was written: it does not match its own digest.",
            hint="Delete it and run the same 'unembed prepare' again: the shards are kept.",
        )
    try:
        return model.model_validate(content), str(digest)
    except ValidationError as error:
        raise DataError(
            f"{folder / MANIFEST_NAME} is of an unknown format: {error.errors()[0]}",
            hint="Install the version of unembed that wrote it, or prepare the data again.",
        ) from error


def read_content(folder: Path) -> dict[str, Any]:
    """The manifest as plain JSON, of whichever kind it is."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", hint="Give a folder that 'unembed prepare' wrote.")
    if not (folder / MANIFEST_NAME).exists():
        if (folder / PLAN_NAME).exists():
            raise UsageError(
                f"{folder} is not finished: it has no {MANIFEST_NAME} yet.",
                hint="Run the same 'unembed prepare' again: it continues where it stopped.",
            )
        raise UsageError(
            f"{folder} holds no data of unembed: it has no {MANIFEST_NAME}.",
            hint="Give a folder that 'unembed prepare' wrote.",
        )
    content = read_json(folder / MANIFEST_NAME)
    if not isinstance(content, dict):
        raise DataError(f"{folder / MANIFEST_NAME} is not a manifest.", hint="Prepare the data again.")
    return content


def check_sizes(folder: Path, files: tuple[FileEntry, ...]) -> None:
    """Every file is there and as long as it was written (`unembed data verify` also reads them)."""
    for file in files:
        problem = size_problem(folder, file)
        if problem:
            raise DataError(
                f"{folder / file.name} {problem}.", hint=f"'unembed data verify {folder}' lists all damage."
            )


def size_problem(folder: Path, file: FileEntry) -> str | None:
    """What is wrong with a file at a glance, or None."""
    try:
        size = (folder / file.name).stat().st_size
    except FileNotFoundError:
        return "is missing"
    return None if size == file.bytes else f"has {size:,} bytes instead of {file.bytes:,}"
