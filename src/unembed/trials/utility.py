"""What a defence costs: retrieval with judged queries, correlation with people, and a store's own neighbours.

An owner fits a defence on his own vectors: here on each benchmark's documents, and on the attacked store's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unembed.metrics.base import MeanMetric, Pair
from unembed.retrieval.embedded_set import EmbeddedSet, EmbeddedSts
from unembed.retrieval.neighbours_kept import nearest_neighbours, neighbours_kept
from unembed.trials.defended_store import DefendedStore
from unembed.trials.settings_of_defences import Setting

NEIGHBOURS, STS, NDCG = "neighbours", "sts", "ndcg"


@dataclass(frozen=True)
class Benchmarks:
    """What utility is measured on, embedded; perhaps nothing."""

    sets: tuple[EmbeddedSet, ...] = ()
    sts: EmbeddedSts | None = None


def measure_utility(
    setting: Setting,
    store: DefendedStore,
    benchmarks: Benchmarks,
    known: Mapping[str, list[float]],
    *,
    seed: int,
) -> dict[str, list[float]]:
    """Every measure by name, a number per query or pair; what is known already is not measured again."""
    out = {} if NEIGHBOURS in known else {NEIGHBOURS: store_neighbours(store)}
    for one in benchmarks.sets:
        if f"{one.judged.name}/{NDCG}" not in known:
            defence = setting.make()
            defence.fit(one.documents, seed=seed)
            scores = one.scores(defence.apply(one.documents, seed=seed), defence.query(one.queries))
            out |= {f"{one.judged.name}/{name}": values for name, values in scores.items()}
    if benchmarks.sts is not None and STS not in known:
        # One sentence of each pair is stored, the other one asks for it.
        pairs, defence = benchmarks.sts, setting.make()
        defence.fit(pairs.first, seed=seed)
        near = pairs.cosines(defence.apply(pairs.first, seed=seed), defence.query(pairs.second))
        out[STS] = near.tolist()
    return {**known, **{name: [round(value, 6) for value in values] for name, values in out.items()}}


def store_neighbours(store: DefendedStore) -> list[float]:
    """The share of each vector's ten nearest neighbours in the store that are found behind the defence."""
    before = store.collection.neighbours  # [n, 10]
    queries = store.defence.query(store.collection.vectors[: len(before)])
    defended = np.concatenate([store.targets, store.known])  # [N, D']
    return neighbours_kept(before, nearest_neighbours(queries, defended))


class Share(MeanMetric):
    """A mean over queries."""

    name = "share"

    def __init__(self, label: str) -> None:
        self.label = label

    def signature(self, languages: Sequence[str]) -> str:
        return "mean over queries"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        raise TypeError("counted per query, not computed from texts")


class Kept(Share):
    """What is left of an undefended mean, query by query: statistics are [behind the defence, without]."""

    name = "kept"
    bounds = (0.0, float("inf"))

    def value(self, sums: NDArray[np.float64], n: int) -> float:
        return float(sums[0] / sums[1]) if sums[1] else 0.0
