"""Which keys were seen: a set of 64-bit integers that costs eight bytes per key, not ninety."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class KeySet:
    """Sorted runs of keys, merged when two reach a similar size: adding n keys costs O(n log n) in all."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def add(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:  # [N]
        """Take the keys in; say which of them are new. Of equal keys in one call, the first is new."""
        unique, first = np.unique(keys, return_index=True)
        known = np.zeros(len(unique), dtype=bool)
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, unique), len(run) - 1)
            known |= run[at] == unique
        new = np.zeros(len(keys), dtype=bool)
        new[first[~known]] = True
        self._push(unique[~known])
        return new

    def _push(self, run: NDArray[np.uint64]) -> None:
        if not len(run):
            return
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)
