"""The floors of an audit: what is guessed of a row without reading its vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.audit.case import Case, Target
from unembed.audit.public_texts import PublicTexts, unit
from unembed.evaluation.floors import derangement

SHUFFLES = 10  # other rows whose recovered texts each text is compared with


def shuffled(count: int, *, seed: int) -> NDArray[np.int64]:  # [k, n]
    """For each of n rows, k others: an attacker who was given another row's vector had recovered their texts.

    A text depends on its vector and the seed alone, so that nothing needs to be recovered again.
    """
    if count < 2:
        return np.zeros((0, count), dtype=np.int64)
    other = derangement(count, seed=seed)
    turns = [other]
    while len(turns) < min(SHUFFLES, count - 1):
        turns.append(other[turns[-1]])
    return np.stack(turns)


def nearest_texts(case: Case, targets: Sequence[int]) -> list[str] | None:
    """For each row the nearest other text of the collection; None where there are no other texts.

    It is what somebody gets who holds the rest of the collection and has read none of the vectors.
    """
    everyone = [Target(row.id, row.vector, row.text) for row in case.others] + [
        case.targets[number] for number in case.usual
    ]
    there = [one for one in everyone if one.text]
    if len(there) < 2:
        return None
    cosine = unit(case.vectors[list(targets)]) @ unit(np.stack([one.vector for one in there])).T  # [n, m]
    place = {one.id: column for column, one in enumerate(there)}
    for row, target in enumerate(targets):
        if (own := place.get(case.targets[target].id)) is not None:
            cosine[row, own] = -np.inf
    return [there[column].text or "" for column in cosine.argmax(axis=1).tolist()]


def nearest_public(case: Case, targets: Sequence[int], public: PublicTexts) -> list[str]:
    """For each row the nearest sentence that anybody has."""
    cosine = unit(case.vectors[list(targets)]) @ public.vectors.T  # [n, m]
    return [public.texts[column] for column in cosine.argmax(axis=1).tolist()]
