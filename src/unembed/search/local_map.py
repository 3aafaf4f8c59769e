"""An adapter's map, refitted around one target by what the search embeds.

An adapter reads another encoder's vectors by a linear map, `z(e) = (e - mean) W + shift`, times a gain: a
blur that is fitted for all texts. But whoever searches for one text embeds others, ever nearer to it, and of
each he can know what the base would have read: every call is a further pair. So the map's errors
`r_i = z_i - z(e_i)` at these texts, and at others that are known, are fitted by a ridge regression of their
own, in which a pair weighs the more the nearer its vector is to the target t:

    z'(e) = z(e) + (e - m) R + b,   w_i = exp(-|e_i - t|^2 / h^2)

with h the distance of the NEAR-th nearest text, m and b the weighted means of e_i and r_i. Near to the target
the map is then right for the words that the found texts have, whatever it is elsewhere.

A regression is timid, and the blocks read timid vectors as texts without a subject (adaptation/tuned_map.py):
the result has at least ENERGY times the energy of the base's own vectors of these texts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.model.ridge import Ridge, RidgePath

Floats = NDArray[np.float32]
Read = Callable[[Tensor], Tensor]  # vectors [n, D] to what the blocks read [n, native_dim]

NEAR = 10  # texts that set how far is near
LEAST = 5  # texts that a refit takes
MOST = 200  # texts that it is made of: the nearest
ENERGY = 1.0
STRENGTHS = tuple(10.0**power for power in range(-4, 3))  # relative to the mean variance of the directions


class LocalMap:
    """The map of one target. adapter: the map as it is; regression: the same without its gain."""

    def __init__(self, target: Floats, adapter: Read, regression: Read | None = None) -> None:
        self._target = torch.from_numpy(target)  # [D] of length 1
        self._adapter, self._regression = adapter, regression or adapter
        self._vectors = torch.empty(0, len(target))  # [n, D]
        self._standard: Tensor | None = None  # [n, native_dim]
        self._fit: Ridge | None = None  # made when it is needed

    def __len__(self) -> int:
        return len(self._vectors)

    def learn(self, vectors: Floats, standard: Tensor) -> None:
        """Take in texts that were embedded: their vectors [k, D], and what the base reads [k, native_dim]."""
        known = standard if self._standard is None else torch.cat([self._standard, standard])
        every = torch.cat([self._vectors, torch.from_numpy(vectors)])
        distance = (every - self._target).square().sum(dim=1)  # [n]
        nearest = torch.sort(distance, stable=True).indices[:MOST]
        self._vectors, self._standard, self._fit = every[nearest], known[nearest], None

    @torch.no_grad()
    def __call__(self, vectors: Floats) -> Floats:
        """What the blocks are to read of vectors [m, D].  # [m, native_dim]"""
        e = torch.from_numpy(np.ascontiguousarray(vectors))
        if self._standard is None or len(self._vectors) < LEAST:
            out = self._adapter(e)  # [m, native_dim]
        else:
            self._fit = self._fit or self._fitted(self._standard)
            out = louder(self._regression(e) + self._fit(e), self._standard)  # [m, native_dim]
        read: Floats = out.numpy()
        return read

    def _fitted(self, standard: Tensor) -> Ridge:
        distance = (self._vectors - self._target).square().sum(dim=1)  # [n], the nearest first
        width = distance[min(NEAR, len(distance)) - 1].clamp(min=1e-6)
        weights = torch.exp(-distance / width)
        errors = standard - self._regression(self._vectors)  # [n, native_dim]
        return RidgePath(self._vectors, errors, weights).best(STRENGTHS)


def louder(standard: Tensor, like: Tensor) -> Tensor:
    """Vectors [m, d] of at least ENERGY times the mean energy of others [n, d]."""
    wanted = ENERGY * float(like.square().sum(dim=1).mean())
    energy = standard.square().sum(dim=1, keepdim=True).clamp(min=1e-12)  # [m, 1]
    return standard * (wanted / energy).sqrt().clamp(min=1.0)
