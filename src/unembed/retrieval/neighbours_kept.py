"""What a change of vectors does to their neighbourhood, without any judgement: for a store's own vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unembed.retrieval.rank_documents import Floats, rank_documents
from unembed.retrieval.ranking_metrics import K


def nearest_neighbours(queries: Floats, documents: Floats, k: int = K) -> NDArray[np.int64]:  # [n, k]
    """The k nearest of the documents to each query; query i is document i, and not its own neighbour."""
    return rank_documents(queries, documents, k, without=np.arange(len(queries)))


def neighbours_kept(before: NDArray[np.int64], after: NDArray[np.int64]) -> list[float]:  # n
    """The share of each row's neighbours [n, k] that are still among them, in whatever order."""
    pairs = zip(before.tolist(), after.tolist(), strict=True)
    return [len(set(one) & set(other)) / max(1, len(one)) for one, other in pairs]
