"""Reading what was written: JSON, digests, and files that must be what their digest says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from unembed.errors import DataError, UsageError


def read_checked(path: Path, digest: str | None, *, hint: str | None = None) -> bytes:
    """The contents of `path`; a missing file, or one whose sha256 is not `digest`, is named."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path.parent} is incomplete: {path.name} is missing.", hint=hint) from error
    if digest_bytes(content) != digest:
        raise DataError(f"{path} is damaged: its sha256 is not the one that was saved.", hint=hint)
    return content


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
