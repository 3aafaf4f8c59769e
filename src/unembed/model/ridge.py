"""Ridge regression in closed form, its strength chosen by leave-one-out errors, which need no refitting.

With X [n, p] and Y [n, q], each row of weight w_i, N the weights' sum, X and Y centred at their weighted
means, the map `R = (X^T W X + N s I)^-1 X^T W Y` is found for every strength s from one decomposition: of
X^T W X or, where there are fewer rows than columns, of the smaller W^1/2 X X^T W^1/2. The hat matrix H of a
strength gives each row's error as if that row had been left out: `(y_i - yhat_i) / (1 - H_ii)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

# Relative to the mean variance of X's directions.
STRENGTHS = tuple(10.0 ** (power / 2) for power in range(-10, 5))
_NOTHING = 1e-12  # of the largest variance: a direction with less is rounding


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
    """The maps from x [n, p] to y [n, q] of all strengths, from one decomposition.

    weights: [n], what each row counts for; a row of weight 2 is as good as two rows.
    """

    @torch.no_grad()
    def __init__(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> None:
        x, y = x.double(), y.double()
        self._weights = torch.ones(len(x)).double() if weights is None else weights.double()  # [n]
        self._n = float(self._weights.sum())
        self.mean, self.shift = self._weights @ x / self._n, self._weights @ y / self._n
        self._centred, self._targets = x - self.mean, y - self.shift
        self._variance, self._axes = _axes(self._weights.sqrt()[:, None] * self._centred, self._n)
        weighted = self._weights[:, None] * self._targets  # [n, q]
        self._shared = self._axes.T @ (self._centred.T @ weighted) / self._n  # [r, q]

    @property
    def spread(self) -> float:
        """The mean variance of X's directions: what strengths are relative to."""
        return float(self._variance.sum()) / len(self.mean)

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
        total = float(self._weights @ self._targets.square().sum(dim=1))
        lost = float(self._weights @ self._errors(strength).square().sum(dim=1))
        return 1.0 - lost / total if total else 0.0

    @torch.no_grad()
    def left_out(self, strength: float) -> Tensor:
        """Each row of y, predicted without itself.  # [n, q]"""
        return (self._targets - self._errors(strength) + self.shift).float()

    def _errors(self, strength: float) -> Tensor:  # [n, q]
        scale = 1.0 / (self._variance + strength)  # [r]
        leverage = (self._scores.square() @ scale + 1.0) * self._weights / self._n  # [n] the mean counts too
        errors = self._targets - (self._scores * scale) @ self._shared  # [n, q]
        out: Tensor = errors / (1.0 - leverage).clamp(min=1e-6)[:, None]
        return out

    @cached_property
    def _scores(self) -> Tensor:  # [n, r]
        scores: Tensor = self._centred @ self._axes
        return scores

    def best(self, strengths: Sequence[float] = STRENGTHS) -> Ridge:
        """The map whose leave-one-out error is smallest; strengths are relative to the spread."""
        found = [(self.explained(relative * self.spread), relative * self.spread) for relative in strengths]
        explained, strength = max(found, key=lambda item: item[0])
        return self.at(strength, explained)


def fit_ridge(
    x: Tensor, y: Tensor, strengths: Sequence[float] = STRENGTHS, weights: Tensor | None = None
) -> Ridge:
    """The map from x [n, p] to y [n, q] whose leave-one-out error is smallest."""
    return RidgePath(x, y, weights).best(strengths)


def _axes(rows: Tensor, count: float) -> tuple[Tensor, Tensor]:
    """The directions of centred rows [n, p] and the variance along each: r of them.  # [r], [p, r]"""
    if len(rows) >= rows.shape[1]:
        variance, axes = torch.linalg.eigh(rows.T @ rows / count)  # [p], [p, p]
        return variance.clamp(min=0.0), axes
    variance, sides = torch.linalg.eigh(rows @ rows.T / count)  # [n], [n, n]
    some = variance > _NOTHING * variance[-1]
    variance = variance[some]  # [r]
    return variance, rows.T @ sides[:, some] / (count * variance).sqrt()
