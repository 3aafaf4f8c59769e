"""Ridge regression in closed form, its strength chosen by leave-one-out errors, which need no refitting.

With centred X [n, p] and Y [n, q], the map `R = (X^T X + n s I)^-1 X^T Y` is found for every strength s from
one eigendecomposition of X^T X. The hat matrix H of a strength gives each row's error as if that row had been
left out: `(y_i - yhat_i) / (1 - H_ii)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

# Relative to the mean variance of X's directions.
STRENGTHS = tuple(10.0 ** (power / 2) for power in range(-10, 5))


@dataclass(frozen=True)
class Ridge:
    """`y ~ (x - mean) matrix + shift`."""

    mean: Tensor  # [p]
    matrix: Tensor  # [p, q]
    shift: Tensor  # [q]
    strength: float
    explained: float  # share of Y's variance, each row predicted without itself

    def __call__(self, x: Tensor) -> Tensor:
        return (x - self.mean) @ self.matrix + self.shift  # [n, q]


class RidgePath:
    """The maps from x [n, p] to y [n, q] of all strengths, from one decomposition."""

    @torch.no_grad()
    def __init__(self, x: Tensor, y: Tensor) -> None:
        x, y = x.double(), y.double()
        self._n, self.mean, self.shift = len(x), x.mean(dim=0), y.mean(dim=0)
        self._centred, self._targets = x - self.mean, y - self.shift
        variance, self._axes = torch.linalg.eigh(self._centred.T @ self._centred / self._n)  # [p], [p, p]
        self._variance = variance.clamp(min=0.0)
        self._shared = self._axes.T @ (self._centred.T @ self._targets) / self._n  # [p, q]

    @property
    def spread(self) -> float:
        """The mean variance of X's directions: what strengths are relative to."""
        return float(self._variance.mean())

    @torch.no_grad()
    def at(self, strength: float, explained: float | None = None) -> Ridge:
        """The map of a strength. explained: where it is known; it takes as long as all the rest."""
        matrix = self._axes @ (self._shared / (self._variance + strength)[:, None])  # [p, q]
        if explained is None:
            explained = self.explained(strength)
        return Ridge(self.mean.float(), matrix.float(), self.shift.float(), strength, explained)

    @torch.no_grad()
    def explained(self, strength: float) -> float:
        """The share of Y's variance, each row predicted without itself."""
        total = float(self._targets.square().sum())
        scale = 1.0 / (self._variance + strength)  # [p]
        leverage = (self._scores.square() @ scale + 1.0) / self._n  # [n] the mean counts too
        errors = self._targets - (self._scores * scale) @ self._shared  # [n, q]
        errors = errors / (1.0 - leverage).clamp(min=1e-6)[:, None]
        return 1.0 - float(errors.square().sum()) / total if total else 0.0

    @cached_property
    def _scores(self) -> Tensor:  # [n, p]
        scores: Tensor = self._centred @ self._axes
        return scores

    def best(self, strengths: Sequence[float] = STRENGTHS) -> Ridge:
        """The map whose leave-one-out error is smallest; strengths are relative to the spread."""
        found = [(self.explained(relative * self.spread), relative * self.spread) for relative in strengths]
        explained, strength = max(found, key=lambda item: item[0])
        return self.at(strength, explained)


def fit_ridge(x: Tensor, y: Tensor, strengths: Sequence[float] = STRENGTHS) -> Ridge:
    """The map from x [n, p] to y [n, q] whose leave-one-out error is smallest."""
    return RidgePath(x, y).best(strengths)
