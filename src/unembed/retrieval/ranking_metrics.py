"""nDCG@k and recall@k of a ranking, per query, as trec_eval and BEIR compute them.

Järvelin and Kekäläinen 2002: `DCG = sum over ranks r of grade(r) / log2(r + 1)`, divided by that of the ideal
ranking. trec_eval's gain is the grade itself, not 2^grade - 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

K = 10


def ndcg(ranking: Sequence[int], relevant: Mapping[int, int], k: int = K) -> float:
    """nDCG@k of one query: `ranking` are documents, best first, `relevant` the grades of those that count."""
    gains = [relevant.get(document, 0) for document in ranking[:k]]
    ideal = sorted(relevant.values(), reverse=True)[:k]
    best = _discounted(ideal)
    return _discounted(gains) / best if best else 0.0


def recall(ranking: Sequence[int], relevant: Mapping[int, int], k: int = K) -> float:
    """The share of the relevant documents among the first k."""
    return sum(document in relevant for document in ranking[:k]) / len(relevant) if relevant else 0.0


def score_rankings(
    rankings: NDArray[np.int64], relevant: Sequence[Mapping[int, int]]
) -> dict[str, list[float]]:
    """Both of every query: rankings [n, >= 10]."""
    rows = rankings.tolist()
    return {
        "ndcg": [ndcg(row, grades) for row, grades in zip(rows, relevant, strict=True)],
        "recall": [recall(row, grades) for row, grades in zip(rows, relevant, strict=True)],
    }


def _discounted(gains: Sequence[int]) -> float:
    return float(sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains, start=1)))
