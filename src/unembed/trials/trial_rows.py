"""What a trial leaves on disk: `rows.jsonl`, a line per text and attacker; `settings.jsonl`, one per setting.

Every figure of the report is computed from the two.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from unembed.storage import JsonRowLog

SETTINGS_NAME = "settings.jsonl"
FLOOR = "another text's vector"  # in the place of a setting: what comes back from that, undefended


class SettingRow(BaseModel):
    """One setting: what it is, whom it keeps out, what it costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    setting: str
    method: str
    title: str
    strength: float | None
    secret: str | None
    described: dict[str, float | int | str] = Field(
        description="Its parameters, noise in units that compare."
    )
    dimension: int
    bytes_per_vector: float
    asked: tuple[str, ...] = Field(description="Attackers who were asked whether they can.")
    obstacles: dict[str, str] = Field(description="Attackers who cannot, and why.")
    utility: dict[str, list[float]] = Field(description="What was measured, a number per query or pair.")


class SettingLog(JsonRowLog[SettingRow]):
    """The file, open for appending."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / SETTINGS_NAME, SettingRow)

    def of(self, setting: str) -> SettingRow | None:
        """The last line of a setting: later ones know more."""
        return next((row for row in reversed(self.rows) if row.setting == setting), None)


def variant(setting: str, attacker: str) -> str:
    """What the rows of an attacker on a setting are filed under."""
    return f"{setting}|{attacker}"
