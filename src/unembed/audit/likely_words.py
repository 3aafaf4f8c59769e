"""The words that a vector shows without any sentence: the lexical head's likeliest ones.

Only whole words of three letters or more count, and no common ones: what is left is what a text is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.audit.common_words import COMMON
from unembed.errors import UsageError
from unembed.inverter import Inverter
from unembed.personal.came_back import normalise

_WORD = re.compile(r"[^\W\d_]{3,}")
AT_ONCE = 256


def words_of(text: str) -> set[str]:
    """The words of a text that count."""
    return {word for word in _WORD.findall(normalise(text)) if word not in COMMON}


def common_in(texts: Collection[str], count: int) -> list[str]:
    """The words that most of the texts have: what anybody guesses who knows the collection."""
    found = Counter(word for text in texts for word in sorted(words_of(text)))
    return [word for word, _ in found.most_common(count)]


class LikelyWords:
    """Reads words off vectors."""

    def __init__(self, inverter: Inverter) -> None:
        if inverter.denoiser.lexical is None:
            raise UsageError("This model has no lexical head: there are no likeliest words to look at.")
        self._inverter = inverter
        tokenizer, vocabulary = inverter.checkpoint.tokenizer, inverter.checkpoint.vocabulary
        self._words: list[str | None] = []
        for token in vocabulary.token_ids.tolist():
            piece = tokenizer.id_to_token(token) if token >= 0 else None
            whole = (
                piece is not None
                and len(words_of(piece)) == 1
                and _WORD.fullmatch(normalise(piece)) is not None
            )
            self._words.append(normalise(piece) if whole and piece is not None else None)
        self._counts = torch.tensor([word is not None for word in self._words])  # [V]

    @torch.no_grad()
    def read(self, vectors: NDArray[np.float32], count: int) -> list[list[str]]:
        """The `count` likeliest words of each vector [n, D], best first."""
        denoiser = self._inverter.denoiser
        assert denoiser.lexical is not None
        out: list[list[str]] = []
        for first in range(0, len(vectors), AT_ONCE):
            part = np.ascontiguousarray(vectors[first : first + AT_ONCE])
            logits = denoiser.lexical(
                denoiser.read(torch.from_numpy(part).to(self._inverter.device))
            )  # [n, V]
            logits[:, ~self._counts.to(logits.device)] = -torch.inf
            top = logits.topk(min(count, int(self._counts.sum())), dim=1).indices.tolist()  # [n, k]
            out += [self._named(entries) for entries in top]
        return out

    def _named(self, entries: Sequence[int]) -> list[str]:
        return [word for entry in entries if (word := self._words[entry]) is not None]
