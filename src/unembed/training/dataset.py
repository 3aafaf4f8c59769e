"""The texts and vectors of a run: one or more prepared folders as one dataset, read by index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unembed.data.prepared import PreparedData, Split
from unembed.errors import DataError, MismatchError, UsageError
from unembed.training.config import TrainConfig

COUNT_CHUNK = 65_536


class TrainingTexts:
    """One split (train, validation) of one or more prepared folders, filtered by length."""

    def __init__(
        self, splits: Sequence[Split], *, min_tokens: int, max_tokens: int, limit: int | None = None
    ) -> None:
        lengths = [split.lengths.astype(np.int64) for split in splits]
        starts = np.cumsum([0, *map(len, lengths)])
        joined = np.concatenate(lengths)
        chosen = np.nonzero((joined >= min_tokens) & (joined <= max_tokens))[0]
        if limit is not None and limit < len(chosen):
            # A spread over all folders, the same for every seed: folders are shuffled already.
            chosen = chosen[np.linspace(0, len(chosen) - 1, limit).astype(np.int64)]
        if not len(chosen):
            raise DataError(
                f"No text of {min_tokens} to {max_tokens} tokens is in the data's {splits[0].name} split.",
                hint="Change --min-tokens or --max-tokens, or prepare other data.",
            )
        self._splits = list(splits)
        self._folder = np.searchsorted(starts, chosen, side="right") - 1  # [N]
        self._row = chosen - starts[self._folder]  # [N]
        self.lengths: NDArray[np.int64] = joined[chosen]  # [N]

    def __len__(self) -> int:
        return len(self.lengths)

    def labels(self) -> list[str]:
        """The label of each text's source: a language, or a kind of text in one."""
        out = [""] * len(self)
        for index, (split, rows) in self._parts(np.arange(len(self))):
            for where, label in zip(index.tolist(), split.languages(rows), strict=True):
                out[where] = label
        return out

    def repeats(self, alpha: float) -> NDArray[np.float64] | None:
        """How often an epoch takes each text so that sources count by size to the power of `alpha`.  # [N]

        A source is a label (a language, a kind of text) of one folder. None: each text once.
        """
        if alpha == 1.0:
            return None
        names = [f"{folder} {label}" for folder, label in zip(self._folder, self.labels(), strict=True)]
        source = np.unique(names, return_inverse=True)[1]  # [N]
        sizes = np.bincount(source).astype(np.float64)
        share = sizes**alpha / (sizes**alpha).sum()
        each: NDArray[np.float64] = (share * len(self) / sizes)[source]
        return each

    def tokens(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:  # [n, longest]
        """Token ids, padded with -1."""
        out = np.full((len(indices), int(self.lengths[indices].max())), -1, dtype=np.int64)
        for index, part in self._parts(indices):
            tokens = part[0].tokens(part[1])
            out[index, : tokens.shape[1]] = tokens
        beyond = np.arange(out.shape[1]) >= self.lengths[indices][:, None]
        out[beyond] = -1
        return out

    def vectors(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:  # [n, D]
        """The vectors to invert."""
        out = np.empty((len(indices), self._splits[0].dimension), dtype=np.float32)
        for index, (split, rows) in self._parts(indices):
            out[index] = split.vectors(rows)
        return out

    def texts(self, indices: NDArray[np.int64]) -> list[str]:
        """The texts that the vectors were made of."""
        out = [""] * len(indices)
        for index, (split, rows) in self._parts(indices):
            for where, text in zip(index.tolist(), split.texts(rows), strict=True):
                out[where] = text
        return out

    def _parts(
        self, indices: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], tuple[Split, NDArray[np.int64]]]]:
        folders = self._folder[indices]
        return [
            (index, (self._splits[folder], self._row[indices[index]]))
            for folder in np.unique(folders).tolist()
            for index in [np.nonzero(folders == folder)[0]]
        ]


class Corpus(NamedTuple):
    """The data of a run."""

    folders: list[PreparedData]
    train: TrainingTexts
    validation: TrainingTexts


def open_corpus(config: TrainConfig) -> Corpus:
    """The texts that a configuration names."""
    top = config.max_tokens or config.max_length
    return open_folders(config.data, min_tokens=config.min_tokens, max_tokens=top, limit=config.limit)


def open_folders(
    paths: Sequence[Path], *, min_tokens: int, max_tokens: int, limit: int | None = None
) -> Corpus:
    """Open every folder; vectors of different encoders, or tokens of different tokenizers, do not mix."""
    folders = [PreparedData.open(path) for path in paths]
    if not folders:
        raise UsageError("There is no data to train on.", hint="Give prepared data with --data.")
    first = folders[0].manifest
    for data in folders[1:]:
        for name, mine, theirs in (
            ("encoder", first.encoder.digest, data.manifest.encoder.digest),
            ("tokenizer", first.tokenizer.digest, data.manifest.tokenizer.digest),
        ):
            if mine != theirs:
                raise MismatchError(
                    f"{data.folder} was prepared with another {name} than {folders[0].folder}.",
                    hint="Prepare both with the same encoder and tokenizer.",
                )
    sides = [
        TrainingTexts(
            [data.split(side) for data in folders],
            min_tokens=min_tokens,
            max_tokens=max_tokens,
            limit=limit if side == "train" else None,
        )
        for side in ("train", "validation")
    ]
    return Corpus(folders, sides[0], sides[1])


def count_tokens(texts: TrainingTexts, size: int) -> NDArray[np.int64]:
    """How often each of the tokenizer's tokens occurs.  # [tokenizer's vocabulary]"""
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(texts), COUNT_CHUNK):
        tokens = texts.tokens(np.arange(start, min(start + COUNT_CHUNK, len(texts))))
        counts += np.bincount(tokens[tokens >= 0], minlength=size)
    return counts
