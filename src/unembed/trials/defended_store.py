"""A store behind a defence: what its owner holds, and what attackers may know of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unembed.adaptation.pairs import LEAST, LEAST_TOKENS
from unembed.data.normalise import text_keys
from unembed.data.prepared import PreparedData
from unembed.defences import Defence
from unembed.errors import DataError
from unembed.evaluation.samples import Samples
from unembed.retrieval.neighbours_kept import nearest_neighbours
from unembed.trials.settings_of_defences import Setting

Floats = NDArray[np.float32]
MOST_ROWS = 1000  # whose neighbours are looked at
ATTACKER = 1_000_003  # added to the owner's seed: his own draw of noise and secrets


class Known(NamedTuple):
    """Texts with their vectors by the encoder, not defended."""

    texts: list[str]
    vectors: Floats  # [n, D]


@dataclass(frozen=True)
class Collection:
    """Texts of one store: those that are attacked, those that somebody knows; and an attacker's own texts."""

    targets: Samples
    known: Known
    own: Known

    @cached_property
    def vectors(self) -> Floats:  # [N, D] the targets first
        return np.concatenate([self.targets.vectors, self.known.vectors])

    @cached_property
    def neighbours(self) -> NDArray[np.int64]:  # [n, 10]
        """The nearest of the store to each of its first vectors, undefended."""
        return nearest_neighbours(self.vectors[:MOST_ROWS], self.vectors)


@dataclass(frozen=True)
class DefendedStore:
    """The collection as its owner holds it: fitted on all of it, with a secret of his own."""

    collection: Collection
    setting: Setting
    seed: int

    @cached_property
    def defence(self) -> Defence:
        defence = self.setting.make()
        defence.fit(self.collection.vectors, seed=self.seed)
        return defence

    @cached_property
    def targets(self) -> Floats:  # [n, D']
        return self.defence.apply(self.collection.targets.vectors, seed=self.seed)

    @cached_property
    def known(self) -> Floats:  # [m, D']
        return self.defence.apply(self.collection.known.vectors, seed=self.seed)

    @cached_property
    def own_by_method(self) -> Floats:  # [m, D']
        """An attacker's own vectors, as somebody defends them who knows the method and not the secret.

        Where nothing is secret, what the owner fitted is not either: the attacker has the very same thing.
        """
        if self.setting.info.secret is None:
            return self.own_by_owner
        replica = self.setting.make()
        replica.fit(self.collection.own.vectors, seed=self.seed + ATTACKER)
        return replica.apply(self.collection.own.vectors, seed=self.seed + ATTACKER)

    @cached_property
    def own_by_owner(self) -> Floats:  # [m, D']
        """The same, by the owner's own defence: for whoever can have texts embedded and defended there."""
        return self.defence.apply(self.collection.own.vectors, seed=self.seed + ATTACKER)


def collect_known(data: PreparedData, targets: Samples, count: int, longest: int, *, seed: int) -> Collection:
    """Known pairs and an attacker's own texts from the training side: `count` of each, or half of it each.

    None of them is the text of a target, however it is written.
    """
    side = data.split("train")
    lengths = side.lengths
    rows = np.nonzero((lengths >= LEAST_TOKENS) & (lengths <= longest))[0]
    rows = np.random.default_rng([seed, 5]).permutation(rows)[: 2 * count + len(targets)]
    texts = side.texts(rows)
    attacked = set(text_keys(targets.texts).tolist())
    free = np.array([key not in attacked for key in text_keys(texts).tolist()], dtype=bool)
    rows = rows[free][: 2 * count]
    if len(rows) < 2 * LEAST:
        raise DataError(
            f"{data.folder} has {len(rows)} training texts that attackers could know; they need {2 * LEAST}.",
            hint="Prepare more texts, or hold out a smaller share of them.",
        )
    half = len(rows) // 2
    known, own = (
        Known(side.texts(part), np.asarray(side.vectors(part), np.float32))
        for part in (rows[:half], rows[half:])
    )
    return Collection(targets, known, own)
