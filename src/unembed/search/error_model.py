"""What the encoder will say of a text that only the surrogate has seen: a Gaussian process of its errors.

The surrogate is often wrong about a text, and nearly as wrong about similar texts. So the search learns: the
error at every text that was embedded is known, and a Gaussian process over the surrogate's vectors s, one for
all dimensions, predicts the errors at other texts:

    v(x) = s(x) + m + k(s(x), S) (k(S, S) + NOISE I)^-1 (V - S - m)
    k(a, b) = exp(-|a - b|^2 / 2 LENGTH_SCALE^2)

with V [n, D] the encoder's vectors of the texts that were embedded, S [n, D] the surrogate's, and m the mean
of V - S. The predicted cosine is that of v(x) and the target.

A search that ranks by the prediction embeds what the surrogate overrates, and never what it underrates. So
texts are ranked by an upper confidence bound, which is the higher the less is known of the errors around:

    ucb(x) = cosine(v(x), target) + UCB_WIDTH d(x)
    d(x)^2 = u^2 (1 - k(s(x), S) (k(S, S) + NOISE I)^-1 k(S, s(x)))

with u^2 = tr((V - S - m)^T (k(S, S) + NOISE I)^-1 (V - S - m)) / n D, the scale that the known errors have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

LENGTH_SCALE = 0.4  # how far apart two of the surrogate's vectors may be and still have much the same error
NOISE = 0.03  # variance of an error that says nothing of the texts around, over the variance that does
UCB_WIDTH = 1.5  # standard deviations above the prediction
MAX_OBSERVATIONS = 500  # texts whose errors count: the latest


class _Fit(NamedTuple):
    """What follows from the errors that are known."""

    mean: Floats  # [D] of the errors
    inverse: Floats  # [n, n] of the kernel with its noise
    weights: Floats  # [n, D]
    scale: float  # u: the errors' standard deviation, in a dimension, where nothing is known


class GPErrorModel:
    """The surrogate's errors around one target."""

    def __init__(self, target: Floats) -> None:
        self._target = target  # [D] of length 1
        self._by_surrogate = np.zeros((0, len(target)), np.float32)  # [n, D]
        self._errors = np.zeros((0, len(target)), np.float32)  # [n, D]
        self._fit: _Fit | None = None  # made when it is needed

    def learn(self, by_surrogate: Floats, embedded: Floats) -> None:
        """Take in texts that were embedded: both kinds of vectors [k, D] are of length 1."""
        self._by_surrogate = np.concatenate([self._by_surrogate, by_surrogate])[-MAX_OBSERVATIONS:]
        self._errors = np.concatenate([self._errors, embedded - by_surrogate])[-MAX_OBSERVATIONS:]
        self._fit = None

    def predict(self, by_surrogate: Floats) -> Floats:
        """The predicted cosines to the target of texts with these vectors [m, D] by the surrogate.  # [m]"""
        return self._posterior(by_surrogate)[0]

    def upper_confidence_bound(self, by_surrogate: Floats) -> Floats:
        """The cosines that these texts may well have: the less is known, the higher.  # [m]"""
        cosines, deviations = self._posterior(by_surrogate)
        out: Floats = cosines + np.float32(UCB_WIDTH) * deviations
        return out

    def _posterior(self, by_surrogate: Floats) -> tuple[Floats, Floats]:
        """Predicted cosines, and their standard deviations.  # [m] each"""
        if not len(self._by_surrogate):
            return unit(by_surrogate) @ self._target, np.zeros(len(by_surrogate), np.float32)
        fit = self._fit = self._fit or self._fitted()
        near = _kernel(by_surrogate, self._by_surrogate)  # [m, n]
        vectors = by_surrogate + fit.mean + near @ fit.weights  # [m, D]
        unknown = 1 - ((near @ fit.inverse) * near).sum(axis=1)  # [m]
        deviations: Floats = np.float32(fit.scale) * np.sqrt(np.maximum(unknown, 0))
        return unit(vectors) @ self._target, deviations

    def _fitted(self) -> _Fit:
        mean: Floats = self._errors.mean(axis=0)
        errors = self._errors - mean
        kernel = _kernel(self._by_surrogate, self._by_surrogate) + NOISE * np.eye(len(errors))
        inverse = np.linalg.inv(kernel)
        weights = inverse @ errors
        scale = float(np.sqrt(max((errors * weights).sum() / errors.size, 0.0)))
        return _Fit(mean, inverse.astype(np.float32), weights.astype(np.float32), scale)


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Vectors [n, D], each scaled to length 1."""
    length = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    out: Floats = (vectors / length).astype(np.float32)
    return out


def _kernel(one: Floats, other: Floats) -> Floats:
    """Of vectors of length 1, [m, D] and [n, D].  # [m, n]"""
    out: Floats = np.exp((one @ other.T - 1) / LENGTH_SCALE**2)
    return out
