"""Token F1: the words that came back, wherever they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.metrics.base import MeanMetric, Pair, column


def token_f1(target: Sequence[int], recovered: Sequence[int]) -> float:
    """Harmonic mean of precision and recall over multisets: a token that occurs twice must come twice."""
    if not target and not recovered:
        return 1.0
    shared = (Counter(target) & Counter(recovered)).total()
    return 2 * shared / (len(target) + len(recovered))


class TokenF1(MeanMetric):
    """The mean over texts of their multiset F1."""

    name = "token_f1"
    label = "Token F1"

    def signature(self, languages: Sequence[str]) -> str:
        return "multiset F1 of token ids, mean over texts"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return column([token_f1(pair.target_tokens, pair.recovered_tokens) for pair in pairs])
