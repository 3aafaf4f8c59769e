"""Exact search by cosine: the best documents of each query, in constant memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_AT_ONCE = 512  # queries


def unit(vectors: Floats) -> Floats:
    """Rows of length 1; a zero stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: Floats = (vectors / np.maximum(norms, np.float32(1e-12))).astype(np.float32)
    return out


def rank_documents(
    queries: Floats, documents: Floats, k: int, *, without: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:  # [n, k]
    """The k documents [N, D] of the largest cosine to each query [n, D], best first; of equals the earlier.

    `without` [n] names a document per query that does not count (-1: none), such as the query itself.
    """
    k = min(k, len(documents))
    found = np.zeros((len(queries), k), dtype=np.int64)
    columns = unit(documents).T  # [D, N]
    for first in range(0, len(queries), _AT_ONCE):
        similarity = unit(queries[first : first + _AT_ONCE]) @ columns  # [b, N]
        if without is not None:
            some = without[first : first + _AT_ONCE]
            rows = np.nonzero(some >= 0)[0]
            similarity[rows, some[rows]] = -np.inf
        # A full sort would take most of the time.
        nearest = np.sort(np.argpartition(-similarity, k - 1, axis=1)[:, :k], axis=1)  # [b, k]
        order = np.argsort(-np.take_along_axis(similarity, nearest, axis=1), axis=1, kind="stable")
        found[first : first + _AT_ONCE] = np.take_along_axis(nearest, order, axis=1)
    return found
