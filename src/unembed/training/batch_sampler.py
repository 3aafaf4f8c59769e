"""Which samples make up which step: a pure function of the seed and the step, so that nothing is saved.

A group holds texts of one length, so that no computation is spent on padding; a batch may mix several
groups. Texts of small sources may come several times in an epoch, and those of large ones not every time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class BatchSampler:
    """`sampler[step]` is the step's groups of indices.

    Every sample comes once per epoch, or `repeats` [N] times: of 2.3 the 0.3 is a draw.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        *,
        batch: int,
        groups: int,
        seed: int,
        mixed: bool = False,
        repeats: NDArray[np.float64] | None = None,
    ) -> None:
        self._seed = seed
        self._groups = groups
        self._size = max(1, batch // groups)
        # Models of fixed length fill every text up to the same length: one bucket holds them all.
        keys = np.zeros_like(lengths) if mixed else lengths
        self._buckets = _buckets(keys, repeats)
        pieces = sum(-(-bucket.size // self._size) for bucket in self._buckets)
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
            order = rng.permutation(bucket.draw(rng))
            pieces += [order[start : start + self._size] for start in range(0, len(order), self._size)]
        return [pieces[index] for index in rng.permutation(len(pieces))]


class _Bucket(NamedTuple):
    """Samples of one length. Every epoch draws as many, so that every epoch has as many steps."""

    always: NDArray[np.int64]  # each as often as its whole number of repeats
    sometimes: list[tuple[NDArray[np.int64], int]]  # samples, and how many of them an epoch takes once more

    @property
    def size(self) -> int:
        return len(self.always) + sum(count for _, count in self.sometimes)

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        some = [rng.choice(samples, count, replace=False) for samples, count in self.sometimes if count]
        return np.concatenate([self.always, *some]) if some else self.always


def _buckets(keys: NDArray[np.int64], repeats: NDArray[np.float64] | None) -> list[_Bucket]:
    by_key = [np.nonzero(keys == key)[0] for key in np.unique(keys)]
    if repeats is None:
        return [_Bucket(samples, []) for samples in by_key]
    buckets = [_Bucket(np.repeat(samples, repeats[samples].astype(np.int64)), []) for samples in by_key]
    for often in np.unique(repeats):
        alike = [samples[repeats[samples] == often] for samples in by_key]
        # Rounded over all lengths together: one by one, rare lengths would never come.
        ends = np.cumsum([len(samples) * (often % 1) for samples in alike]).round().astype(np.int64)
        for bucket, samples, count in zip(buckets, alike, np.diff(ends, prepend=0).tolist(), strict=True):
            bucket.sometimes.append((samples, min(count, len(samples))))
    return [bucket for bucket in buckets if bucket.size]
