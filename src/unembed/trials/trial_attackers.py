"""The attackers of a defended store: what each knows, what keeps him out, and how he reads its vectors.

All of them have the defended vectors and the model. None of them retrains the model: an adapter, fitted on
pairs of what they know, turns defended vectors into what it reads. For noise that is Wiener's filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unembed.defences.defended_encoder import DefendedEncoder
from unembed.encoders.base import BATCH_TOKENS, Encoder
from unembed.trials.attackers_bench import AttackersBench, Reader
from unembed.trials.column_matching import match_by_pairs, match_by_spread, matches
from unembed.trials.defended_store import DefendedStore
from unembed.trials.trials_config import TrialsConfig

Floats = NDArray[np.float32]
NOTHING_SECRET = "nothing is secret"
SAME_COLUMNS = 0.6  # mean correlation of columns matched over pairs; 0.35 by chance over 100 of them


class TrialAttacker(Protocol):
    """Somebody who has a defended store's vectors, and perhaps more."""

    @property
    def name(self) -> str:
        """What rows call him."""

    @property
    def title(self) -> str:
        """What tables call him."""

    @property
    def at_most(self) -> int | None:
        """Texts that he attacks; None: all."""

    def obstacle(self, store: DefendedStore, bench: AttackersBench) -> str | None:
        """Why he cannot; None: he can."""

    def reader(self, store: DefendedStore, bench: AttackersBench) -> Reader:
        """What he reads defended vectors with."""


@dataclass(frozen=True)
class Unaware:
    """Takes the vectors for what the encoder made."""

    name: str = "unaware"
    title: str = "unaware of it"
    at_most: int | None = None

    def obstacle(self, store: DefendedStore, bench: AttackersBench) -> str | None:
        stored, read = store.targets.shape[1], bench.inverter.dimension
        return None if stored == read else f"{stored} numbers a vector, and the model reads {read}"

    def reader(self, store: DefendedStore, bench: AttackersBench) -> Reader:
        return bench.plain


@dataclass(frozen=True)
class Aware:
    """Knows the method and its parameters, and draws a secret of his own in the place of the real one."""

    name: str = "aware"
    title: str = "knows the method"
    at_most: int | None = None

    def obstacle(self, store: DefendedStore, bench: AttackersBench) -> str | None:
        return None

    def reader(self, store: DefendedStore, bench: AttackersBench) -> Reader:
        return bench.on_own_texts(store.own_by_method, scaled=store.setting.info.secret is not None)


@dataclass(frozen=True)
class MatchesColumns:
    """Knows the method, no pair; finds a secret order of the dimensions from what the columns look like."""

    name: str = "columns"
    title: str = "knows the method, matches columns"
    at_most: int | None = None

    def obstacle(self, store: DefendedStore, bench: AttackersBench) -> str | None:
        if store.setting.info.secret is None:
            return NOTHING_SECRET
        if store.targets.shape[1] != bench.inverter.dimension:
            return "not as many columns as the encoder has"
        clean, stored = self._both(store)
        if not matches(clean, len(stored), match_by_spread(clean, stored)[1]):
            return "the store's columns are not the encoder's in another order"
        return None

    def reader(self, store: DefendedStore, bench: AttackersBench) -> Reader:
        return bench.in_order(store, match_by_spread(*self._both(store))[0])

    @staticmethod
    def _both(store: DefendedStore) -> tuple[Floats, Floats]:
        """The encoder's vectors of his own texts, and all that the store holds."""
        return store.collection.own.vectors, np.concatenate([store.targets, store.known])


@dataclass(frozen=True)
class WithPairs:
    """Knows some of the texts behind this very store's vectors."""

    count: int
    at_most: int | None = None

    @property
    def name(self) -> str:
        return f"pairs-{self.count}"

    @property
    def title(self) -> str:
        return f"{self.count:,} known pairs"

    def obstacle(self, store: DefendedStore, bench: AttackersBench) -> str | None:
        there = len(store.collection.known.texts)
        return None if there >= self.count else f"the data has {there:,} texts for that"

    def reader(self, store: DefendedStore, bench: AttackersBench) -> Reader:
        clean, stored = store.collection.known.vectors[: self.count], store.known[: self.count]
        if store.setting.info.secret is not None and clean.shape == stored.shape:
            order, correlation = match_by_pairs(clean, stored)
            if correlation > SAME_COLUMNS:  # pairs that few regressions could be fitted on
                return bench.in_order(store, order)
        features = bench.known_features.first(self.count)
        return bench.adapted(features, store.known[: self.count])


@dataclass(frozen=True)
class WithEncoder:
    """Can have texts embedded and defended as the store's are: he fits on his own, then searches."""

    encoder: Encoder | None
    at_most: int | None

    name: str = "encoder"
    title: str = "defended encoder at hand"

    def obstacle(self, store: DefendedStore, bench: AttackersBench) -> str | None:
        return None if self.encoder is not None else "the encoder is not on this machine"

    def reader(self, store: DefendedStore, bench: AttackersBench) -> Reader:
        return bench.on_own_texts(store.own_by_owner)

    def judge(self, store: DefendedStore) -> Encoder:
        """What tells him how near a guess is."""
        assert self.encoder is not None
        kind = QueryJudge if store.setting.info.random else DefendedEncoder
        return kind(self.encoder, store.defence)


class QueryJudge(DefendedEncoder):
    """For judging guesses where documents get noise: more of it would only blur the comparison."""

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> Floats:  # [N, D']
        """What queries become, which are made to be compared with defended vectors."""
        return self.defence.query(self.encoder.encode(texts, batch_tokens=batch_tokens))


def make_trial_attackers(config: TrialsConfig, encoder: Encoder | None) -> list[TrialAttacker]:
    """The attackers of a configuration, the least informed first."""
    every: dict[str, list[TrialAttacker]] = {
        "unaware": [Unaware()],
        "aware": [Aware()],
        "columns": [MatchesColumns()],
        "pairs": [WithPairs(count) for count in config.known_pairs],
        "encoder": [WithEncoder(encoder, config.guided_samples)],
    }
    return [one for name in config.against for one in every[name]]
