"""The surrogate prefilter: a surrogate of the encoder embeds all proposals first, and most end there.

Its own calls cost nothing; only the best-ranked proposals cost a call of the encoder.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unembed.encoders.base import Encoder
from unembed.model.checkpoint import Checkpoint
from unembed.model.word_vectors import WordVectors
from unembed.search.error_model import Floats, unit


class SurrogatePrefilter:
    """Keeps one in `ratio` proposals: the best-ranked by a surrogate's vectors."""

    def __init__(self, surrogate: Encoder, ratio: int, words: WordVectors | None = None) -> None:
        """words: the surrogate's, where somebody has them already."""
        self._surrogate, self._ratio, self._words = surrogate, ratio, words

    def embed(self, texts: Sequence[Sequence[str]]) -> list[Floats]:
        """The surrogate's unit vectors of several lists of texts, all read together.  # [k, D] each"""
        wanted = list(dict.fromkeys(text for some in texts for text in some))
        if wanted:
            vectors = unit(self._surrogate.encode(wanted))  # [m, D]
        else:
            vectors = np.zeros((0, self._surrogate.info.dimension), np.float32)
        rows = {text: row for row, text in enumerate(wanted)}
        return [vectors[[rows[text] for text in some]] for some in texts]

    def word_vectors(self, checkpoint: Checkpoint) -> WordVectors:
        """The surrogate's vectors of the words of a model."""
        if self._words is None:
            self._words = WordVectors(checkpoint.texts, len(checkpoint.vocabulary), self._surrogate)
        return self._words

    def keep(self, ranked: Sequence[int]) -> list[int]:
        """Of indices, best first, those that stay, in ascending order."""
        return sorted(ranked[: -(-len(ranked) // self._ratio)])
