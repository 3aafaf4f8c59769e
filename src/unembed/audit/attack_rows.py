"""`rows.jsonl`: one line per attacked row and attacker, appended as it is done; every figure comes from
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from unembed.storage import JsonRowLog, atomic_write

ROWS_NAME = "rows.jsonl"


class AttackRow(BaseModel):
    """What one attacker made of one vector."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attacker: str
    target: int = Field(description="Which of the attacked rows.")
    canary: str | None = Field(None, description="The canary that this row is, by its id.")
    recovered: str | None = Field(description="None once the audit is complete, unless texts were asked for.")
    original: str | None = Field(None, description="The same of the store's own text; absent until then.")
    score: float = Field(description="The model's own log-probability of what it recovered.")
    surrogate_cosine: float | None = None
    encoder_cosine: float | None = None
    encoder_calls: int = 0
    seconds: float = Field(description="Its share of the batch's time.")
    statistics: dict[str, float] | None = Field(None, description="What was measured on it, at the end.")


class AttackLog(JsonRowLog[AttackRow]):
    """The file, open for appending."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / ROWS_NAME, AttackRow)

    def of(self, attacker: str) -> list[AttackRow]:
        """One attacker's rows, by target."""
        return sorted((row for row in self.rows if row.attacker == attacker), key=lambda row: row.target)

    def replace(self, rows: Sequence[AttackRow]) -> None:
        """Write the file anew: the same rows, with what was measured and without what was asked not to
        stay.
        """
        self.close()
        with atomic_write(self.path) as file:
            for row in rows:
                file.write(row.model_dump_json().encode("utf-8", "replace") + b"\n")
        self.rows = list(rows)
