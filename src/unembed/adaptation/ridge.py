"""Ridge regression in closed form, its strength chosen by leave-one-out errors, which need no refitting.

With centred X [n, p] and Y [n, q], the map `R = (X^T X + n s I)^-1 X^T Y` is found for every strength s from
one eigendecomposition of X^T X. The hat matrix H of a strength gives each row's error as if that row had been
left out: `(y_i - yhat_i) / (1 - H_ii)`.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@torch.no_grad()
def fit_ridge(x: Tensor, y: Tensor, strengths: tuple[float, ...] = STRENGTHS) -> Ridge:
    """The map from x [n, p] to y [n, q] whose leave-one-out error is smallest."""
    x, y = x.double(), y.double()
    n = len(x)
    mean, shift = x.mean(dim=0), y.mean(dim=0)
    centred, targets = x - mean, y - shift
    variance, axes = torch.linalg.eigh(centred.T @ centred / n)  # [p], [p, p]
    variance = variance.clamp(min=0.0)
    scores = centred @ axes  # [n, p]
    shared = scores.T @ targets / n  # [p, q]
    total = float(targets.square().sum())
    best: tuple[float, float] | None = None
    for relative in strengths:
        strength = relative * float(variance.mean())
        scale = 1.0 / (variance + strength)  # [p]
        leverage = (scores.square() @ scale + 1.0) / n  # [n] the mean counts too
        errors = (targets - (scores * scale) @ shared) / (1.0 - leverage).clamp(min=1e-6)[:, None]
        lost = float(errors.square().sum())
        if best is None or lost < best[0]:
            best = (lost, strength)
    assert best is not None
    lost, strength = best
    matrix = axes @ (shared / (variance + strength)[:, None])  # [p, q]
    explained = 1.0 - lost / total if total else 0.0
    return Ridge(mean.float(), matrix.float(), shift.float(), strength, explained)
