"""Exact match as a text is written, and ignoring case: for encoders that tell case and spaces apart.

`exact_match` forgives case, white space and the marks at the edges; these forgive nothing, or case alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.metrics.base import MeanMetric, Pair, column


class AsWritten(MeanMetric):
    """The share of texts that came back as they were written: capitals, spaces and marks included."""

    name = "as_written"
    label = "As written"

    def signature(self, languages: Sequence[str]) -> str:
        return "equal, character by character"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return column([pair.target == pair.recovered for pair in pairs])


class IgnoringCase(MeanMetric):
    """The share of texts that came back as they were written but for their case."""

    name = "ignoring_case"
    label = "Ignoring case"

    def signature(self, languages: Sequence[str]) -> str:
        return "equal in lower case, character by character"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return column([pair.target.lower() == pair.recovered.lower() for pair in pairs])
