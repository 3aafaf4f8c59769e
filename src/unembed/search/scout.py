"""A scout: an imitation of the encoder that looks at the drafts first, so that fewer of them cost a call.

It is often wrong about a text, and nearly as wrong about the texts around it. So it learns while a target is
hunted: wherever a text was embedded, its error is known, and the errors at other texts are foretold from
those by a Gaussian process over the scout's own vectors s, one for all dimensions:

    v(x) = s(x) + m + k(s(x), S) (k(S, S) + NOISE I)^-1 (V - S - m),    k(a, b) = exp(-|a - b|^2 / 2 REACH^2)

with V [n, D] the vectors of the texts that were embedded, S [n, D] the scout's, and m the mean of V - S. The
foretold cosine is that of v(x) and the target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder

Floats = NDArray[np.float32]

REACH = 0.4  # how far apart two of the scout's vectors may be, to have much the same error
NOISE = 0.03  # what of an error says nothing of the texts around, over what does
REMEMBERED = 500  # texts whose errors count: the latest


class Scout:
    """Vectors by another encoder, normally a surrogate. Its own calls cost nothing."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def look(self, texts: Sequence[Sequence[str]]) -> list[Floats]:
        """Unit vectors of each hunt's texts, those of all hunts read together.  # [k, D] each"""
        wanted = list(dict.fromkeys(text for some in texts for text in some))
        if wanted:
            vectors = unit(self._encoder.encode(wanted))  # [m, D]
        else:
            vectors = np.zeros((0, self._encoder.info.dimension), np.float32)
        places = {text: place for place, text in enumerate(wanted)}
        return [vectors[[places[text] for text in some]] for some in texts]


class Beliefs:
    """What a scout's errors are around one target."""

    def __init__(self, target: Floats) -> None:
        self._target = target  # [D] of length 1
        self._scouted = np.zeros((0, len(target)), np.float32)  # [n, D]
        self._errors = np.zeros((0, len(target)), np.float32)  # [n, D]
        self._mean = np.zeros(len(target), np.float32)  # [D]
        self._weights: Floats | None = None  # [n, D], once they are needed

    def learn(self, scouted: Floats, embedded: Floats) -> None:
        """These texts were embedded: both kinds of vectors [k, D] are of length 1."""
        self._scouted = np.concatenate([self._scouted, scouted])[-REMEMBERED:]
        self._errors = np.concatenate([self._errors, embedded - scouted])[-REMEMBERED:]
        self._weights = None

    def foretold(self, scouted: Floats) -> Floats:
        """The cosines to the target that texts with these of the scout's vectors [m, D] will have.  # [m]"""
        vectors = scouted
        if len(self._scouted):
            if self._weights is None:
                self._mean = self._errors.mean(axis=0)
                kernel = _kernel(self._scouted, self._scouted) + NOISE * np.eye(len(self._scouted))
                weights = np.linalg.solve(kernel, self._errors - self._mean)
                self._weights = weights.astype(np.float32)
            vectors = scouted + self._mean + _kernel(scouted, self._scouted) @ self._weights  # [m, D]
        out: Floats = unit(vectors) @ self._target
        return out


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors [n, D], each of length 1."""
    length = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    out: Floats = (vectors / length).astype(np.float32)
    return out


def _kernel(one: Floats, other: Floats) -> Floats:
    """Of vectors of length 1, [m, D] and [n, D].  # [m, n]"""
    out: Floats = np.exp((one @ other.T - 1) / REACH**2)
    return out
