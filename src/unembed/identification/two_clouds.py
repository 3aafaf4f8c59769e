"""Two encoders that nobody knows: their vectors lie in two clouds, with a gap that no topic makes.

It takes encoders whose vectors all lean to one side, as those of many do (e5, gte, text-embedding-ada-002);
mixtures of others are not seen without texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unembed.vectors.arrays import Floats

GAP = 0.2  # between cosines within a cloud and across; two topics, or two languages, leave hardly any
LEAST_SHARE, LEAST_ROWS = 0.05, 5
_ROUNDS = 20


@dataclass(frozen=True)
class TwoClouds:
    """A split of the vectors in two."""

    share: float  # of the larger cloud
    within: float  # 5 % of the cosines inside a cloud are less
    across: float  # 5 % of the cosines between the clouds are more


def two_clouds(unit: Floats, *, seed: int = 0) -> TwoClouds | None:
    """The two clouds of vectors [n, D] of length 1; None where they are one."""
    unit = unit[:1000]
    if len(unit) < 2 * LEAST_ROWS:
        return None
    cosines = unit @ unit.T  # [n, n]
    # Spherical 2-means, from the pair that is farthest apart.
    first, second = np.unravel_index(int(cosines.argmin()), cosines.shape)
    side = cosines[first] < cosines[second]  # [n]
    for _ in range(_ROUNDS):
        if not 0 < side.sum() < len(side):
            return None
        means = np.stack([unit[~side].mean(axis=0), unit[side].mean(axis=0)])  # [2, D]
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        moved = np.asarray(unit @ means[1] > unit @ means[0])
        if np.array_equal(moved, side):
            break
        side = moved
    smaller = int(min(side.sum(), (~side).sum()))
    if smaller < max(LEAST_ROWS, LEAST_SHARE * len(side)):
        return None
    within = min(_low(cosines[np.ix_(part, part)]) for part in (side, ~side))
    across = float(np.quantile(cosines[np.ix_(side, ~side)], 0.95))
    if within - across < GAP:
        return None
    return TwoClouds(1 - smaller / len(side), within, across)


def _low(cosines: Floats) -> float:
    """What 5 % of the cosines of different vectors stay below."""
    return float(np.quantile(cosines[~np.eye(len(cosines), dtype=bool)], 0.05))
