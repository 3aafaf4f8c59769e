"""chrF by sacrebleu: character n-grams, for scripts that put no spaces between words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.extras import require
from unembed.metrics.base import MeanMetric, Pair, column


class Chrf(MeanMetric):
    """The mean over texts of chrF2 (Popović 2015) as a share: n-grams of up to six characters."""

    name = "chrf"
    label = "chrF"
    percent = True

    @cached_property
    def _scorer(self) -> Any:
        return require("sacrebleu.metrics", extra="eval", purpose="chrF").CHRF()

    def signature(self, languages: Sequence[str]) -> str:
        self._scorer.sentence_score("a", ["a"])  # the signature knows the references after a first score
        return f"{self._scorer.get_signature()}, mean over texts"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return column([self._score(pair) for pair in pairs])

    def _score(self, pair: Pair) -> float:
        if pair.target == pair.recovered:
            return 1.0  # also where there is no character in it, which sacrebleu calls 0
        # Rounding may end a hair above 100.
        return min(1.0, float(self._scorer.sentence_score(pair.recovered, [pair.target]).score) / 100)
