"""Exact match: the whole text came back, as far as `normalise` tells texts apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.data.normalise import NORMALISATION_VERSION, normalise
from unembed.metrics.base import MeanMetric, Pair, column


def exact_match(target: str, recovered: str) -> bool:
    """Whether both are one text but for case, white space, compatibility forms and edge punctuation."""
    return normalise(target) == normalise(recovered)


class ExactMatch(MeanMetric):
    """The share of texts that came back whole."""

    name = "exact_match"
    label = "Exact match"

    def signature(self, languages: Sequence[str]) -> str:
        return f"equal under normalisation {NORMALISATION_VERSION}"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return column([exact_match(pair.target, pair.recovered) for pair in pairs])
