"""Undoing a secret order of the dimensions: which stored column is which of the encoder's?

With pairs it is an assignment by correlation. Without any, columns are told apart by how their values are
spread, and then by how they vary together: the encoder's own vectors of any texts show both. The second step
is a graph matching by repeated assignments, each column described by its correlations with the matched ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.extras import require
from unembed.retrieval.rank_documents import Floats, unit

Order = NDArray[np.int64]  # [D]: `stored[:, order]` has the encoder's columns in their order
_QUANTILES = np.linspace(0.01, 0.99, 33)
_ROUNDS = 30


def match_by_pairs(clean: Floats, stored: Floats) -> tuple[Order, float]:
    """The order by correlations over pairs [n, D] and [n, D], and the mean correlation that it reaches."""
    correlation = _standard(clean).T @ _standard(stored) / len(clean)  # [D, D]
    order = _assign(-correlation)
    return order, float(correlation[np.arange(len(order)), order].mean())


def match_by_spread(clean: Floats, stored: Floats) -> tuple[Order, float]:
    """The order without any pair, from vectors of other texts [N, D] and the stored ones [M, D].

    And what is left: how far the matched columns' correlations are from the encoder's, relative to these.
    """
    a, b = unit(clean).astype(np.float64), unit(stored).astype(np.float64)
    spread_a, spread_b = (np.quantile(part, _QUANTILES, axis=0).T for part in (a, b))  # [D, q] each
    order = _assign(_distances(spread_a, spread_b))
    together_a, together_b = _together(a), _together(b)  # [D, D] each
    for _ in range(_ROUNDS):
        better = _assign(_distances(together_a, together_b[:, order]))
        if (better == order).all():
            break
        order = better
    return order, _left(together_a, together_b[np.ix_(order, order)])


def matches(clean: Floats, count: int, left: float) -> bool:
    """Whether so much is left as between equal columns of different texts, `count` of them on one side.

    Whoever knows no text of the store can tell so whether he succeeded: the encoder's own vectors [N, D],
    cut in two, show what chance leaves. Unrelated columns leave 1 or more.
    """
    half = unit(clean[: min(count, len(clean) // 2)]).astype(np.float64)
    rest = unit(clean[len(half) :]).astype(np.float64)
    return left < (1 + _left(_together(rest), _together(half))) / 2


def _left(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


def _together(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns' correlations, their own left out; a column that never varies has none.  # [D, D]"""
    columns = _standard(vectors)
    out: NDArray[np.float64] = columns.T @ columns / len(columns)
    np.fill_diagonal(out, 0.0)
    return out


def _standard(vectors: NDArray[Any]) -> NDArray[np.float64]:
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    out: NDArray[np.float64] = centred / np.maximum(centred.std(axis=0), 1e-12)
    return out


def _distances(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances of all rows of a to all rows of b.  # [D, D]"""
    out: NDArray[np.float64] = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None] - 2 * a @ b.T
    return out


def _assign(cost: NDArray[np.float64]) -> Order:
    """For each row a column of its own, of the least cost in all."""
    optimize = require("scipy.optimize", extra="eval", purpose="Matching columns")
    order: Order = optimize.linear_sum_assignment(cost)[1]
    return order
