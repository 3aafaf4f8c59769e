"""What a report is made of: tables of figures, and what they were measured on. Stored as `summary.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unembed.errors import DataError
from unembed.metrics.figure import Figure
from unembed.storage import read_json, write_json

SUMMARY_NAME = "summary.json"


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(Frozen):
    """One column of figures."""

    name: str = Field(description="Key into a row's figures.")
    label: str
    percent: bool = Field(False, description="Shown as a percentage.")
    digits: int = Field(1, ge=0, description="Digits after the point.")
    best: Literal["high", "low"] | None = Field(None, description="Which end is the good one, if any is.")
    signature: str = Field("", description="What the figure depends on besides the texts.")


class Row(Frozen):
    """One line of a table."""

    label: str
    x: float | None = Field(None, description="Where it stands on a numeric axis.")
    curve: str = Field("", description="Rows of one name are one line of a plot.")
    floor: bool = Field(False, description="Not the model, but what it must be compared with.")
    facts: dict[str, str] = Field(default_factory=dict, description="What is not a figure: steps, encoder.")
    figures: dict[str, Figure] = Field(default_factory=dict)


class Reference(Frozen):
    """What others published: no row of ours, since neither texts nor intervals are."""

    label: str
    values: dict[str, float] = Field(description="By the name of the column; shares between 0 and 1.")
    conditions: str
    source: str


class Table(Frozen):
    """One table, and with it one plot."""

    name: str = Field(description="File name of its renderings, and its key for scripts.")
    title: str
    axis: str = Field(description="What the rows differ in.")
    scale: Literal["category", "linear", "symlog"] = Field(
        "category", description="How a plot lays them out."
    )
    columns: tuple[Column, ...]
    panels: tuple[str, ...] = Field((), description="Columns that the plot shows, one panel each.")
    rows: tuple[Row, ...]
    mark_best: bool = Field(True, description="Whether a best row means anything.")
    notes: tuple[str, ...] = Field((), description="What a reader must know to read it.")
    references: tuple[Reference, ...] = Field((), description="What others published, for orientation.")

    @property
    def facts(self) -> tuple[str, ...]:
        """The names of the facts, in the order of their first mention."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.facts))

    @property
    def n(self) -> int | None:
        """The number of samples, if it is the same for every figure."""
        counts = {figure.n for row in self.rows for figure in row.figures.values()}
        return counts.pop() if len(counts) == 1 else None


class ScatterPoint(Frozen):
    """One mark of a picture: a figure to the right, figures upwards."""

    label: str
    curve: str = Field(description="Points of one name are one line, in the order given.")
    x: Figure
    ys: dict[str, Figure] = Field(description="By the name of the panel.")
    marked: bool = Field(False, description="Whether it is one of those that the picture is about.")


class Scatter(Frozen):
    """A picture of figures against figures, intervals on both axes."""

    name: str = Field(description="File name of its renderings.")
    title: str
    x: Column
    panels: tuple[Column, ...]
    points: tuple[ScatterPoint, ...]
    marked: str = Field(description="What the marked ones are, for the legend.")
    floors: dict[str, Figure] = Field(default_factory=dict, description="A line across, by panel.")


class Report(Frozen):
    """`summary.json`: everything that a rendering shows."""

    kind: Literal["evaluation"] = "evaluation"
    format: Literal[1] = 1
    title: str
    about: dict[str, Any] = Field(description="Model, data, seed, versions: the run's manifest.")
    facts: dict[str, str] = Field(default_factory=dict, description="The same in a few words, for people.")
    conclusions: tuple[str, ...] = Field((), description="What follows from the figures, derived by rule.")
    tables: tuple[Table, ...]
    scatters: tuple[Scatter, ...] = ()


def write_report(path: Path, report: Report) -> None:
    """Write a report as JSON, whole or not at all."""
    write_json(path, report.model_dump(mode="json"))


def read_report(path: Path | str) -> Report:
    """Read a report from its file, or from the folder that holds it."""
    path = Path(path)
    if path.is_dir():
        path = path / SUMMARY_NAME
    content = read_json(path)
    try:
        return Report.model_validate(content)
    except ValidationError as error:
        raise DataError(
            f"{path} is not a report of 'unembed evaluate': {error.errors()[0]['msg']}.",
            hint="Run the evaluation again: finished rows are kept, and the summary is made of them.",
        ) from error
