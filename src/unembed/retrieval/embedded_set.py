"""Benchmarks with their vectors: embedded once, kept on disk, measured as often as one likes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.encoders.saved_vectors import embed_saved
from unembed.metrics.cosine import cosines
from unembed.retrieval.beir_folder import RetrievalSet
from unembed.retrieval.rank_documents import Floats, rank_documents
from unembed.retrieval.ranking_metrics import K, score_rankings
from unembed.retrieval.sts_pairs import StsPairs
from unembed.storage import digest_json


@dataclass(frozen=True)
class EmbeddedSet:
    """A retrieval benchmark and the vectors of its documents and queries."""

    judged: RetrievalSet
    documents: Floats  # [N, D]
    queries: Floats  # [n, D]

    def scores(self, documents: Floats, queries: Floats) -> dict[str, list[float]]:
        """nDCG@10 and recall@10 of every query, with these vectors in the place of its own.

        A document that is the query itself does not count, as in BEIR.
        """
        numbers = {name: number for number, name in enumerate(self.judged.document_ids)}
        itself = np.array([numbers.get(name, -1) for name in self.judged.query_ids], dtype=np.int64)  # [n]
        return score_rankings(rank_documents(queries, documents, K, without=itself), self.judged.relevant)


@dataclass(frozen=True)
class EmbeddedSts:
    """Judged pairs and the vectors of both sides."""

    judged: StsPairs
    first: Floats  # [n, D]
    second: Floats  # [n, D]

    @staticmethod
    def cosines(first: Floats, second: Floats) -> NDArray[np.float64]:  # [n]
        return cosines(first, second)


def embed_set(judged: RetrievalSet, encoder: Encoder, folder: Path, *, quiet: bool = True) -> EmbeddedSet:
    """The set's vectors by this encoder, from a folder of `folder` where they are already."""
    texts = [*judged.documents, *judged.queries]
    vectors = _embed(judged.name, texts, encoder, folder, quiet=quiet)
    return EmbeddedSet(judged, vectors[: len(judged.documents)], vectors[len(judged.documents) :])


def embed_sts(judged: StsPairs, encoder: Encoder, folder: Path, *, quiet: bool = True) -> EmbeddedSts:
    """The pairs' vectors by this encoder, from a folder of `folder` where they are already."""
    vectors = _embed(judged.name, [*judged.first, *judged.second], encoder, folder, quiet=quiet)
    return EmbeddedSts(judged, vectors[: len(judged.first)], vectors[len(judged.first) :])


def _embed(name: str, texts: list[str], encoder: Encoder, folder: Path, *, quiet: bool) -> Floats:
    key = digest_json([encoder.info.digest, texts])[:12]
    return embed_saved(texts, encoder, folder / f"{name.replace(' ', '-')}-{key}", quiet=quiet)
