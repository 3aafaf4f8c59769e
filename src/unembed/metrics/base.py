"""What a metric is: numbers per sample that add up, and a formula of their sums.

Every pinned metric has this form: a mean adds up values, token accuracy adds up hits and positions,
BLEU adds up n-gram counts. So a sample's numbers are computed once, stored in its JSONL row, and every
figure (over all samples, over one length, over a bootstrap resample) is the formula on some sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pair:
    """A text, what was recovered of it, and what a metric may need to know about the two."""

    target: str
    recovered: str
    target_tokens: tuple[int, ...] = ()  # the tokenizer's ids
    recovered_tokens: tuple[int, ...] = ()
    target_vector: NDArray[np.float32] | None = None  # [D] what the encoder made of the target
    language: str = ""


@runtime_checkable
class Metric(Protocol):
    """Everything that puts a number on recovered texts. The contract test says what that includes."""

    @property
    def name(self) -> str:
        """What rows, options and the registry call it."""

    @property
    def label(self) -> str:
        """What tables and plots call it."""

    @property
    def percent(self) -> bool:
        """Whether tables show it as a percentage."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value it can take."""

    @property
    def best(self) -> float:
        """The bound that is better: `bounds[1]`, or `bounds[0]` where less is better."""

    @property
    def compares(self) -> bool:
        """Whether it compares the recovered text with the target: then the target itself scores best."""

    def signature(self, languages: Sequence[str]) -> str:
        """Everything the number depends on besides the texts, in one line."""

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:  # [n, k]
        """The numbers of each sample that add up."""

    def value(self, sums: NDArray[np.float64], n: int) -> float:  # sums: [k]
        """The metric of `n` samples whose statistics add up to `sums`."""


class MeanMetric:
    """What most metrics share: one share between 0 and 1 per sample, and their mean."""

    percent = True
    bounds = (0.0, 1.0)
    best = 1.0
    compares = True

    def value(self, sums: NDArray[np.float64], n: int) -> float:
        return float(sums[0]) / n


def column(values: Sequence[float]) -> NDArray[np.float64]:
    """One number per sample, as statistics.  # [n, 1]"""
    return np.asarray(values, dtype=np.float64).reshape(-1, 1)
