"""Which samples make up which step: a pure function of the seed and the step, so that nothing is saved.

A group holds texts of one length, so that no computation is spent on padding; a batch may mix several
groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class BatchSampler:
    """`sampler[step]` is the step's groups of indices; every sample once per epoch."""

    def __init__(
        self, lengths: NDArray[np.int64], *, batch: int, groups: int, seed: int, mixed: bool = False
    ) -> None:
        self._seed = seed
        self._groups = groups
        self._size = max(1, batch // groups)
        # Models of fixed length fill every text up to the same length: one bucket holds them all.
        keys = np.zeros_like(lengths) if mixed else lengths
        self._buckets = buckets = [np.nonzero(keys == key)[0] for key in np.unique(keys)]
        pieces = sum(-(-len(bucket) // self._size) for bucket in buckets)
        self.steps_an_epoch = -(-pieces // groups)
        self._epoch = -1
        self._order: list[NDArray[np.int64]] = []

    def __getitem__(self, step: int) -> list[NDArray[np.int64]]:
        epoch, number = divmod(step, self.steps_an_epoch)
        if epoch != self._epoch:
            self._order, self._epoch = self._shuffle(epoch), epoch
        return self._order[number * self._groups : (number + 1) * self._groups]

    def _shuffle(self, epoch: int) -> list[NDArray[np.int64]]:
        rng = np.random.default_rng([self._seed, epoch])
        pieces = []
        for bucket in self._buckets:
            order = rng.permutation(bucket)
            pieces += [order[start : start + self._size] for start in range(0, len(order), self._size)]
        return [pieces[index] for index in rng.permutation(len(pieces))]
