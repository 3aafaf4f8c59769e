"""Which samples make up which step: a pure function of the seed and the step, so that nothing need be saved.

Groups hold texts of one length, so that no computation is spent on padding; a batch may mix several
groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.data.prepared import Split
from unembed.errors import DataError


class TrainingTexts:
    """One side of one or more prepared folders, filtered by length."""

    def __init__(
        self, splits: Sequence[Split], *, min_tokens: int, max_tokens: int, limit: int | None = None
    ) -> None:
        lengths = [split.lengths.astype(np.int64) for split in splits]
        starts = np.cumsum([0, *map(len, lengths)])
        joined = np.concatenate(lengths)
        kept = np.nonzero((joined >= min_tokens) & (joined <= max_tokens))[0]
        if limit is not None:
            # A spread over all folders, the same for every seed: folders are shuffled already.
            kept = kept[np.linspace(0, len(kept) - 1, limit).astype(np.int64)] if limit < len(kept) else kept
        if not len(kept):
            raise DataError(
                f"No text of {min_tokens} to {max_tokens} tokens is in the data's {splits[0].name} split."
            )
        self._splits = list(splits)
        self._folder = np.searchsorted(starts, kept, side="right") - 1  # [N]
        self._row = kept - starts[self._folder]  # [N]
        self.lengths: NDArray[np.int64] = joined[kept]  # [N]

    def __len__(self) -> int:
        return len(self.lengths)

    def tokens(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:  # [n, longest]
        """Token ids, padded with -1."""
        out = np.full((len(indices), int(self.lengths[indices].max())), -1, dtype=np.int64)
        for place, part in self._parts(indices):
            tokens = part[0].tokens(part[1])
            out[place, : tokens.shape[1]] = tokens
        beyond = np.arange(out.shape[1]) >= self.lengths[indices][:, None]
        out[beyond] = -1
        return out

    def vectors(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:  # [n, D]
        """The vectors to invert."""
        parts = [(place, split.vectors(rows)) for place, (split, rows) in self._parts(indices)]
        out = np.empty((len(indices), parts[0][1].shape[1]), dtype=np.float32)
        for place, vectors in parts:
            out[place] = vectors
        return out

    def texts(self, indices: NDArray[np.int64]) -> list[str]:
        """The texts that the vectors were made of."""
        out = [""] * len(indices)
        for place, (split, rows) in self._parts(indices):
            for where, text in zip(place.tolist(), split.texts(rows), strict=True):
                out[where] = text
        return out

    def _parts(
        self, indices: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], tuple[Split, NDArray[np.int64]]]]:
        folders = self._folder[indices]
        return [
            (place, (self._splits[folder], self._row[indices[place]]))
            for folder in np.unique(folders).tolist()
            for place in [np.nonzero(folders == folder)[0]]
        ]


class BatchPlan:
    """`plan[step]` is the step's groups of indices; every sample once an epoch."""

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
        epoch, place = divmod(step, self.steps_an_epoch)
        if epoch != self._epoch:
            self._order, self._epoch = self._shuffle(epoch), epoch
        return self._order[place * self._groups : (place + 1) * self._groups]

    def _shuffle(self, epoch: int) -> list[NDArray[np.int64]]:
        rng = np.random.default_rng([self._seed, epoch])
        pieces = []
        for bucket in self._buckets:
            order = rng.permutation(bucket)
            pieces += [order[start : start + self._size] for start in range(0, len(order), self._size)]
        return [pieces[place] for place in rng.permutation(len(pieces))]
