"""Texts that are not embedded yet, with all that is known of them without the encoder."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unembed.search.error_model import GPErrorModel


@dataclass(frozen=True)
class CandidatePool:
    """Candidates in the order in which they are tried where no surrogate ranks them."""

    texts: list[str]
    entries: list[tuple[int, ...]]
    by_surrogate: NDArray[np.float32] | None = None  # [n, D] the surrogate's vectors of them
    trigram_log_probs: NDArray[np.float32] | None = None  # [n]

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, indices: Sequence[int]) -> CandidatePool:
        """These, in this order."""
        rows = list(indices)
        return CandidatePool(
            [self.texts[row] for row in rows],
            [self.entries[row] for row in rows],
            None if self.by_surrogate is None else self.by_surrogate[rows],
            None if self.trigram_log_probs is None else self.trigram_log_probs[rows],
        )

    def without(self, texts: Container[str]) -> CandidatePool:
        """All but these."""
        rows = [row for row, text in enumerate(self.texts) if text not in texts]
        return self if len(rows) == len(self) else self.select(rows)

    def joined(self, other: CandidatePool) -> CandidatePool:
        """Both, in this order; a text in both keeps its first position."""
        other = other.without(set(self.texts))
        return CandidatePool(
            [*self.texts, *other.texts],
            [*self.entries, *other.entries],
            _both(self.by_surrogate, other.by_surrogate),
            _both(self.trigram_log_probs, other.trigram_log_probs),
        )

    def ranked(self, error_model: GPErrorModel | None, trigram_weight: float) -> list[int]:
        """Indices, best first; in their own order where no surrogate has embedded the texts.

        A text's rank is its cosine's upper confidence bound + trigram_weight x its trigram log-probability.
        """
        if error_model is None or self.by_surrogate is None:
            return list(range(len(self)))
        bound = error_model.upper_confidence_bound(self.by_surrogate)  # [n]
        if self.trigram_log_probs is not None:
            bound += np.float32(trigram_weight) * self.trigram_log_probs
        return np.argsort(-bound, kind="stable").tolist()  # type: ignore[no-any-return]


def _both(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    return None if one is None or other is None else np.concatenate([one, other])
