"""A scout: an imitation of the encoder that looks at the drafts first, so that fewer of them cost a call.

It is often wrong about a text, and seldom about the difference between a text and its edit. So a draft's
cosine is foretold from its parent's, which is known:

    cosine(draft) ~ cosine(parent) + scouted(draft) - scouted(parent)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unembed.encoders.base import Encoder
from unembed.search.hunt import Hunt


class Scout:
    """Foretells cosines by another encoder, normally a surrogate. Its own calls cost nothing."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def look(self, hunts: Sequence[Hunt], texts: Sequence[Sequence[str]]) -> None:
        """Remember what it thinks of each hunt's texts; a text is looked at once."""
        new = [[text for text in dict.fromkeys(some) if text and text not in hunt.scouted]
               for hunt, some in zip(hunts, texts, strict=True)]  # fmt: skip
        wanted = [text for some in new for text in some]
        if not wanted:
            return
        vectors = self._encoder.encode(wanted)  # [m, D]
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        first = 0
        for hunt, some in zip(hunts, new, strict=True):
            own = vectors[first : first + len(some)] @ hunt.target  # [k]
            hunt.scouted.update(zip(some, own.tolist(), strict=True))
            first += len(some)

    @staticmethod
    def ranked(
        hunt: Hunt, places: Sequence[int], texts: Sequence[str], parents: Sequence[str | None]
    ) -> list[int]:
        """These places, that of the text which promises to come nearest first."""

        def foretold(place: int) -> float:
            parent = parents[place]
            known = 0.0 if parent is None else hunt.tried[parent].cosine - hunt.scouted[parent]
            return known + hunt.scouted[texts[place]]

        return sorted(places, key=lambda place: -foretold(place))
