"""The model's own vocabulary: the tokens that its corpus uses, numbered from zero, and a few of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Entries that stand for no token of the tokenizer.
UNKNOWN, END, PAD = -1, -2, -3


@dataclass(frozen=True)
class Vocabulary:
    """`token_ids[i]` is the tokenizer's id of the model's entry i, or UNKNOWN, END or PAD."""

    token_ids: NDArray[np.int32]  # [V]

    @classmethod
    def from_counts(
        cls, counts: NDArray[np.int64], *, min_count: int = 1, fixed_length: bool = False
    ) -> Vocabulary:
        """Keep what occurs at least `min_count` times; the rest is UNKNOWN, which is never predicted."""
        used = np.nonzero(counts >= min_count)[0]
        own = [UNKNOWN, END, PAD] if fixed_length else [UNKNOWN]
        return cls(np.concatenate([used, own]).astype(np.int32))

    def joined(self, other: Vocabulary) -> Vocabulary:
        """With the other one's tokens as well; the entries of its own stay the last ones."""
        tokens = np.union1d(self.token_ids[self.token_ids >= 0], other.token_ids[other.token_ids >= 0])
        return Vocabulary(np.concatenate([tokens, self.token_ids[self.token_ids < 0]]).astype(np.int32))

    def __len__(self) -> int:
        return len(self.token_ids)

    @cached_property
    def _by_token(self) -> NDArray[np.int64]:
        table = np.full(int(self.token_ids.max()) + 1, self.unknown, dtype=np.int64)
        tokens = self.token_ids >= 0
        table[self.token_ids[tokens]] = np.nonzero(tokens)[0]
        return table

    @property
    def unknown(self) -> int:
        """The entry for tokens that are not in the vocabulary."""
        return self._own(UNKNOWN)

    @property
    def end(self) -> int:
        """The entry that closes a text of fixed length."""
        return self._own(END)

    @property
    def pad(self) -> int:
        """The entry that fills a text of fixed length."""
        return self._own(PAD)

    def _own(self, kind: int) -> int:
        found = np.nonzero(self.token_ids == kind)[0]
        if not len(found):
            raise TypeError("this vocabulary is for given lengths: it has no end and no padding")
        return int(found[0])

    @property
    def fixed_length(self) -> bool:
        """Whether end and padding are entries like others."""
        return bool((self.token_ids == END).any())

    def encode(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tokenizer's ids as the model's entries, of any shape."""
        known = np.where((tokens >= 0) & (tokens < len(self._by_token)), tokens, 0)
        return np.where(known == tokens, self._by_token[known], self.unknown)

    def close(self, entries: NDArray[np.int64], lengths: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Texts of fixed length: the entries, then the end, then padding.  # [B, size]"""
        position = np.arange(size)  # [size]
        grown = np.full((len(entries), size), self.pad, dtype=np.int64)
        width = min(size, entries.shape[1])
        grown[:, :width] = entries[:, :width]
        grown = np.where(position < lengths[:, None], grown, self.pad)
        return np.where(position == lengths[:, None], self.end, grown)

    def decode(self, entries: Sequence[int]) -> list[int]:
        """The model's entries as the tokenizer's ids: up to the end, without padding and unknowns."""
        out: list[int] = []
        for entry in entries:
            token = int(self.token_ids[entry])
            if token == END:
                break
            if token >= 0:
                out.append(token)
        return out
