"""Pairs of sentences that people judged (STS-B): does the cosine still order them as people do?"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.errors import DataError, UsageError
from unembed.extras import require
from unembed.metrics.figure import RESAMPLES, Figure, with_interval
from unembed.storage import digest_json

_LAYOUT = "A file of lines 'score TAB sentence TAB sentence', as the STS benchmark has them."


@dataclass(frozen=True)
class StsPairs:
    """Sentences two by two, and how alike people find them."""

    name: str
    scores: tuple[float, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def digest(self) -> str:
        return digest_json([self.scores, self.first, self.second])


def read_sts(path: Path | str) -> StsPairs:
    """The pairs of a file, named after it."""
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint=_LAYOUT)
    rows: list[tuple[float, str, str]] = []
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), start=1):
            try:
                rows.append((float(row[0]), row[1], row[2]))
            except (IndexError, ValueError) as error:
                raise DataError(f"Line {number} of {path} is not a judged pair.", hint=_LAYOUT) from error
    if len(rows) < 2:
        raise DataError(f"{path} has fewer than two pairs.", hint=_LAYOUT)
    scores, first, second = zip(*rows, strict=True)
    return StsPairs(f"{path.resolve().parent.name} {path.stem}", scores, first, second)


def spearman(cosines: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Spearman's rank correlation, ties sharing their mean rank; 0 where one side is constant."""
    ranks = require("scipy.stats", extra="eval", purpose="A rank correlation").rankdata
    a, b = ranks(cosines), ranks(scores)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else 0.0


def spearman_figure(
    cosines: NDArray[np.float64], scores: NDArray[np.float64], *, seed: int = 0, resamples: int = RESAMPLES
) -> Figure:
    """With its bootstrap interval over pairs."""
    random = np.random.default_rng(seed)
    n = len(scores)
    drawn = [random.integers(n, size=n) for _ in range(resamples)]
    values = np.array([spearman(cosines[rows], scores[rows]) for rows in drawn])
    return with_interval(spearman(cosines, scores), values, n)
