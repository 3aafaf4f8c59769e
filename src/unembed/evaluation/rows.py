"""`rows.jsonl`: one line per sample and variant, append-only; every summary is computed from it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from unembed.errors import DataError

ROWS_NAME = "rows.jsonl"


class Row(BaseModel):
    """One text, recovered in one way."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    variant: str = Field(validation_alias=AliasChoices("variant", "arm"))  # its name in earlier files
    sample: int = Field(description="Index in the split.")
    language: str
    length: int = Field(description="Tokens of the target.")
    target: str
    recovered: str | None = Field(description="None for denoising accuracy, which recovers no text.")
    tokens: list[int] | None = Field(description="The recovered text's tokens.")
    score: float | None = Field(None, description="The model's own log-probability of what it recovered.")
    forward_passes: int | None = None
    encoder_calls: int | None = Field(None, description="Texts that were embedded to find this one.")
    seconds: float | None = Field(None, description="Its share of the batch's time in the model.")
    statistics: dict[str, list[float]] = Field(description="Each metric's numbers that add up.")


class RowLog:
    """The file, open for appending. A line that a kill cut short is taken off; whole ones are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows, whole = _read(path) if path.exists() else ([], 0)
        self._file = path.open("ab")
        self._file.truncate(whole)
        self._file.seek(whole)

    def done(self) -> set[tuple[str, int]]:
        """Variant and sample of every row that is there."""
        return {(row.variant, row.sample) for row in self.rows}

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows, and make sure that they survive a kill."""
        fresh = list(rows)
        lines = [json.dumps(row.model_dump(), ensure_ascii=False) + "\n" for row in fresh]
        self._file.write("".join(lines).encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += fresh

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> RowLog:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def read_rows(path: Path) -> list[Row]:
    """The whole rows of a file that another run wrote."""
    if not path.exists():
        raise DataError(f"{path} does not exist.", hint="Give a folder that 'unembed evaluate' wrote.")
    return _read(path)[0]


def _read(path: Path) -> tuple[list[Row], int]:
    """The rows, and how many bytes of the file are whole lines."""
    rows: list[Row] = []
    end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                rows.append(Row.model_validate_json(line))
            except ValidationError as error:
                raise DataError(
                    f"Line {number} of {path} is damaged: {error.errors()[0]['msg']}.",
                    hint="Delete that line and run the same command again: its sample is measured again.",
                ) from error
            end += len(line)
    return rows, end
