"""Canaries on disk: JSON lines, CSV, or plain text for planting."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unembed.canaries.make_canaries import Canary, CanaryKind
from unembed.errors import DataError, UsageError
from unembed.storage import atomic_write

FIELDS = ("id", "kind", "text", "secret", "bits")
SUFFIXES = (".jsonl", ".csv", ".txt")
_HINT = "Name it .jsonl or .csv (sentences and secrets), or .txt (sentences alone, for planting)."


def write_canaries(path: Path, canaries: Sequence[Canary]) -> None:
    """Write them by the file's suffix: .jsonl or .csv with the secrets, .txt with the sentences alone."""
    check_suffix(path)
    with atomic_write(path) as file:
        file.write(_as_text(path.suffix.lower(), canaries).encode())


def check_suffix(path: Path) -> None:
    """Raise an error unless canaries can be written to such a file."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"Canaries are not written to '{path.name}'.", hint=_HINT)


def read_canaries(path: Path) -> list[Canary]:
    """The canaries of a .jsonl or .csv file, or one's own: `text` and `secret` in each record are enough."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="'unembed canary -o canaries.jsonl' makes one.")
    suffix = path.suffix.lower()
    if suffix not in (".jsonl", ".csv"):
        raise UsageError(
            f"The secrets of canaries are not read from '{path.name}'.",
            hint="Give the .jsonl or .csv file; a .txt has the sentences alone.",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a mark before their CSV
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text.") from error
    read = [
        _canary(record, f"{path}, record {number},", number)
        for number, record in enumerate(_records(path, suffix, text), 1)
    ]
    if not read:
        raise DataError(f"{path} holds no canaries.", hint="'unembed canary -o canaries.jsonl' makes some.")
    return read


def _as_text(suffix: str, canaries: Sequence[Canary]) -> str:
    if suffix == ".txt":
        return "".join(f"{canary.text}\n" for canary in canaries)
    records = [{**asdict(canary), "kind": canary.kind.value} for canary in canaries]
    if suffix == ".jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def _records(path: Path, suffix: str, text: str) -> Iterable[Any]:
    if suffix == ".csv":
        yield from csv.DictReader(io.StringIO(text))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number}, is not JSON: {error}.") from error


def _canary(record: Any, where: str, number: int) -> Canary:
    if not isinstance(record, dict) or not record.get("text") or not record.get("secret"):
        raise DataError(f"{where} has no 'text' and 'secret'.", hint="Each canary needs both.")
    text, secret = str(record["text"]), str(record["secret"])
    if secret not in text:
        raise DataError(f"{where} has a secret that does not stand in its text.")
    try:
        return Canary(
            id=str(record.get("id") or f"canary-{number:04d}"),
            kind=CanaryKind(record.get("kind") or CanaryKind.OTHER),
            text=text,
            secret=secret,
            bits=float(record.get("bits") or 0.0),
        )
    except ValueError as error:
        raise DataError(f"{where} is no canary: {error}.") from error
