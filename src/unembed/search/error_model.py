"""A scout: an imitation of the encoder that looks at the drafts first, so that fewer of them cost a call.

It is often wrong about a text, and nearly as wrong about the texts around it. So it learns while a target is
hunted: wherever a text was embedded, its error is known, and the errors at other texts are foretold from
those by a Gaussian process over the scout's own vectors s, one for all dimensions:

    v(x) = s(x) + m + k(s(x), S) (k(S, S) + NOISE I)^-1 (V - S - m),    k(a, b) = exp(-|a - b|^2 / 2 REACH^2)

with V [n, D] the vectors of the texts that were embedded, S [n, D] the scout's, and m the mean of V - S. The
foretold cosine is that of v(x) and the target.

A search that believes this embeds what the scout overrates, and never what it underrates. So a text promises
more than is foretold, the less is known of the errors around it (an upper confidence bound):

    promise(x) = cosine(v(x), target) + CURIOSITY d(x),
    d(x)^2     = u^2 (1 - k(s(x), S) (k(S, S) + NOISE I)^-1 k(S, s(x)))

with u^2 = tr((V - S - m)^T (k(S, S) + NOISE I)^-1 (V - S - m)) / n D, what the errors seen say of their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder

Floats = NDArray[np.float32]

REACH = 0.4  # how far apart two of the scout's vectors may be, to have much the same error
NOISE = 0.03  # what of an error says nothing of the texts around, over what does
CURIOSITY = 1.5  # standard deviations by which a text may be better than foretold
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


class _Fit(NamedTuple):
    """What follows from the errors that are known."""

    mean: Floats  # [D] of the errors
    inverse: Floats  # [n, n] of the kernel with its noise
    weights: Floats  # [n, D]
    spread: float  # u: the errors' standard deviation, in a dimension, where nothing is known


class Beliefs:
    """What a scout's errors are around one target."""

    def __init__(self, target: Floats) -> None:
        self._target = target  # [D] of length 1
        self._scouted = np.zeros((0, len(target)), np.float32)  # [n, D]
        self._errors = np.zeros((0, len(target)), np.float32)  # [n, D]
        self._fit: _Fit | None = None  # once it is needed

    def learn(self, scouted: Floats, embedded: Floats) -> None:
        """These texts were embedded: both kinds of vectors [k, D] are of length 1."""
        self._scouted = np.concatenate([self._scouted, scouted])[-REMEMBERED:]
        self._errors = np.concatenate([self._errors, embedded - scouted])[-REMEMBERED:]
        self._fit = None

    def foretold(self, scouted: Floats) -> Floats:
        """The cosines to the target that texts with these of the scout's vectors [m, D] will have.  # [m]"""
        return self._judged(scouted)[0]

    def promise(self, scouted: Floats) -> Floats:
        """The cosines that these texts may well have: the less is known, the more.  # [m]"""
        cosines, doubts = self._judged(scouted)
        out: Floats = cosines + np.float32(CURIOSITY) * doubts
        return out

    def _judged(self, scouted: Floats) -> tuple[Floats, Floats]:
        """Foretold cosines, and their standard deviations.  # [m] each"""
        if not len(self._scouted):
            return unit(scouted) @ self._target, np.zeros(len(scouted), np.float32)
        fit = self._fit = self._fit or self._fitted()
        near = _kernel(scouted, self._scouted)  # [m, n]
        vectors = scouted + fit.mean + near @ fit.weights  # [m, D]
        unknown = 1 - ((near @ fit.inverse) * near).sum(axis=1)  # [m]
        doubts: Floats = np.float32(fit.spread) * np.sqrt(np.maximum(unknown, 0))
        return unit(vectors) @ self._target, doubts

    def _fitted(self) -> _Fit:
        mean: Floats = self._errors.mean(axis=0)
        errors = self._errors - mean
        kernel = _kernel(self._scouted, self._scouted) + NOISE * np.eye(len(errors))
        inverse = np.linalg.inv(kernel)
        weights = inverse @ errors
        spread = float(np.sqrt(max((errors * weights).sum() / errors.size, 0.0)))
        return _Fit(mean, inverse.astype(np.float32), weights.astype(np.float32), spread)


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors [n, D], each of length 1."""
    length = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    out: Floats = (vectors / length).astype(np.float32)
    return out


def _kernel(one: Floats, other: Floats) -> Floats:
    """Of vectors of length 1, [m, D] and [n, D].  # [m, n]"""
    out: Floats = np.exp((one @ other.T - 1) / REACH**2)
    return out
