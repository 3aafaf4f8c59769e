"""What tests of the evaluation share: a toy evaluation in one call, and its tables by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import toy
from unembed.data.prepared import PreparedData
from unembed.evaluation import EvaluateConfig, evaluate
from unembed.report import Report, Table

SMALL = EvaluateConfig(samples=24, steps=3, batch=2)  # rows are written eight at a time


class Bench:
    """evaluate() with the toy's encoder, model, data and output filled in."""

    def __init__(self, prepared: PreparedData, model: Path, output: Path, encoder: toy.ToyEncoder) -> None:
        self.prepared, self.model, self.output, self.encoder = prepared, model, output, encoder

    def run(self, config: EvaluateConfig = SMALL, **more: Any) -> Report:
        more = {"output": self.output, "encoder": self.encoder, "plots": False, **more}
        return evaluate(self.model, self.prepared.folder, config=config, **more)

    @property
    def rows(self) -> list[dict[str, Any]]:
        lines = (self.output / "rows.jsonl").read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]


def table(report: Report, name: str) -> Table:
    return next(one for one in report.tables if one.name == name)


def labels(report: Report, name: str) -> list[str]:
    return [row.label for row in table(report, name).rows]


FLOORS = ["Random tokens", "Shuffled vector", "Nearest training text"]
