"""`rows.jsonl`: one line per sample and variant, append-only; every summary is computed from it."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from unembed.errors import DataError
from unembed.storage import JsonRowLog, read_json_rows

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


class RowLog(JsonRowLog[Row]):
    """The file, open for appending."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Row)

    def done(self) -> set[tuple[str, int]]:
        """Variant and sample of every row that is there."""
        return {(row.variant, row.sample) for row in self.rows}


def read_rows(path: Path) -> list[Row]:
    """The whole rows of a file that another run wrote."""
    if not path.exists():
        raise DataError(f"{path} does not exist.", hint="Give a folder that 'unembed evaluate' wrote.")
    return read_json_rows(path, Row)[0]
