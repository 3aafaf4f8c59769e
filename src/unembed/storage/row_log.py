"""An append-only file of JSON lines, one checked row each, that survives a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from typing_extensions import Self

from unembed.errors import DataError

RowModel = TypeVar("RowModel", bound=BaseModel)


class JsonRowLog(Generic[RowModel]):
    """The file, open for appending. A line that a kill cut short is taken off; whole ones are kept."""

    def __init__(self, path: Path, model: type[RowModel]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows, whole = read_json_rows(path, model) if path.exists() else ([], 0)
        self._file = path.open("ab")
        self._file.truncate(whole)
        self._file.seek(whole)

    def append(self, rows: Iterable[RowModel]) -> None:
        """Add rows, and make sure that they survive a kill."""
        fresh = list(rows)
        lines = [json.dumps(row.model_dump(), ensure_ascii=False) + "\n" for row in fresh]
        self._file.write("".join(lines).encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += fresh

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def read_json_rows(path: Path, model: type[RowModel]) -> tuple[list[RowModel], int]:
    """The rows of a file, and how many of its bytes are whole lines."""
    rows: list[RowModel] = []
    end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                rows.append(model.model_validate_json(line))
            except ValidationError as error:
                raise DataError(
                    f"Line {number} of {path} is damaged: {error.errors()[0]['msg']}.",
                    hint="Delete that line and run the same command again: its sample is measured again.",
                ) from error
            end += len(line)
    return rows, end
