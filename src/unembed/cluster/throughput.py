"""How fast a run is, what a million rows cost, and how long the rest takes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from unembed.progress import duration

HOUR = 3600.0
MILLION = 1e6


class Throughput(BaseModel):
    """Of one run, or of what is expected of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    seconds: float = Field(description="By the clock.")
    rows_per_second: float
    dollars: float | None = None
    dollars_per_million: float | None = Field(None, description="For a million rows, at the price given.")

    @classmethod
    def of(cls, rows: int, seconds: float, price_per_hour: float | None) -> Throughput:
        """`price_per_hour` is that of all machines together."""
        dollars = None if price_per_hour is None else price_per_hour * seconds / HOUR
        return cls(
            rows=rows,
            seconds=round(seconds, 3),
            rows_per_second=round(rows / seconds, 3) if seconds else 0.0,
            dollars=dollars,
            dollars_per_million=None if dollars is None or not rows else dollars / rows * MILLION,
        )

    def line(self) -> str:
        """For the terminal."""
        said = f"{self.rows:,} rows in {duration(self.seconds)}, {self.rows_per_second:,.1f} rows/s"
        if self.dollars is None or self.dollars_per_million is None:
            return said + "."
        return f"{said}, ${self.dollars:,.2f} (${self.dollars_per_million:,.2f} for a million rows)."


def expected(rows: int, one_row: float, workers: int, price_per_hour: float | None) -> Throughput:
    """What `rows` take when a worker needs `one_row` seconds for each: workers share them evenly."""
    return Throughput.of(rows, rows * one_row / max(1, workers), price_per_hour)
