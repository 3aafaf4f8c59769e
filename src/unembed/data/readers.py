"""Texts out of one file: plain or gzipped lines, JSON lines, Parquet. Damage is named with its line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from unembed.errors import DataError, UsageError
from unembed.extras import require

_GZIP_MAGIC = b"\x1f\x8b"
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_OTHER_FORMATS = {".zst": "Zstandard", ".xz": "xz", ".bz2": "bzip2", ".zip": "zip", ".csv": "CSV"}
# Nothing that is a text is longer; a binary file without line breaks is.
MAX_LINE_BYTES = 64 << 20


def has_fields(file: Path) -> bool:
    """Whether the texts stand in a named field or column."""
    return _suffix(file) in (*_JSON_LINES, *_PARQUET)


def read_file(file: Path, field: str) -> Iterator[str]:
    """Every text of the file, in order; empty ones too, so that positions mean something."""
    suffix = _suffix(file)
    if suffix in _PARQUET:
        return _read_parquet(file, field)
    if suffix in _OTHER_FORMATS:
        raise UsageError(
            f"{file} is in a format that is not read here ({_OTHER_FORMATS[suffix]}).",
            hint="Convert it to plain text, JSON lines (both may be gzipped) or Parquet.",
        )
    if suffix in _JSON_LINES:
        return _read_json_lines(file, field)
    return (_decode(line, file, number) for number, line in _lines(file))


def _suffix(file: Path) -> str:
    name = file.with_suffix("") if file.suffix == ".gz" else file
    return name.suffix.lower()


def json_records(file: Path) -> Iterator[tuple[int, Any]]:
    """What stands on each line that is not blank, with the line's number."""
    for number, line in _lines(file):
        if not line.strip():
            continue
        try:
            yield number, json.loads(_decode(line, file, number))
        except json.JSONDecodeError as error:
            raise DataError(
                f"{file}, line {number}, is not valid JSON: {error}.", hint="Write one JSON object per line."
            ) from error


def _read_json_lines(file: Path, field: str) -> Iterator[str]:
    for number, record in json_records(file):
        if not isinstance(record, dict):
            raise DataError(
                f"{file}, line {number}, is not a JSON object with a field '{field}'.",
                hint="Name the field that holds the text: --field NAME.",
            )
        yield field_of(record, field, f"{file}, line {number},")


def _read_parquet(file: Path, column: str) -> Iterator[str]:
    require("pyarrow", extra="parquet", purpose="Reading Parquet")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet")
    from pyarrow.lib import ArrowException

    try:
        with parquet.ParquetFile(file) as table:
            names = table.schema_arrow.names
            if column not in names:
                raise _no_field(str(file), column, names)
            row = 0
            for batch in table.iter_batches(batch_size=1024, columns=[column]):
                for value in batch.column(0).to_pylist():
                    yield _text(value, f"{file}, row {row},", column)
                    row += 1
    except (ArrowException, OSError) as error:
        raise DataError(f"{file} cannot be read as Parquet: {error}") from error


def field_of(record: dict[str, Any], field: str, where: str) -> str:
    """A record's text, or what is wrong with it."""
    if field not in record:
        raise _no_field(where, field, list(record))
    return _text(record[field], where, field)


def _text(value: object, where: str, field: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(
            f"{where} has a '{field}' of type {type(value).__name__}, not a text.",
            hint="Name the field that holds the text: --field NAME.",
        )
    return value


def _no_field(where: str, field: str, names: list[str]) -> UsageError:
    return UsageError(
        f"{where} has no field '{field}'.",
        hint=f"Its fields: {', '.join(names) or 'none'}. Choose with --field, or with #FIELD after the path.",
    )


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without their line break; gzip is recognised by its first bytes, not its name."""
    number = 0
    try:
        with _open(file) as handle:
            while line := handle.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise DataError(
                        f"{file}, line {number}, has over {MAX_LINE_BYTES >> 20} MiB: is this a text file?"
                    )
                yield number, line.rstrip(b"\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{file} is damaged or cut off after line {number}: {error}.",
            hint="Get the file again; 'gzip --test' shows whether it is whole.",
        ) from error


def _open(file: Path) -> IO[bytes]:
    with file.open("rb") as handle:
        zipped = handle.read(2) == _GZIP_MAGIC
    return cast("IO[bytes]", gzip.GzipFile(file)) if zipped else file.open("rb")


def _decode(line: bytes, file: Path, number: int) -> str:
    if b"\0" in line:
        raise DataError(
            f"{file}, line {number}, has a zero byte: this is not a text file.",
            hint="Give plain text, .jsonl or .parquet, gzip or not.",
        )
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file}, line {number}, is not UTF-8: {error}.",
            hint="Convert the file first, for example: iconv -f latin1 -t utf-8 in.txt > out.txt",
        ) from error
