"""The best linear guess of a vector behind noise: Wiener's filter.

A vector e of a space with mean m and covariance C, plus independent noise of standard deviation sigma in
every dimension, is guessed as `m + C (C + sigma^2 I)^-1 (e + noise - m)`. Directions in which vectors
differ little drown first; the filter leaves them at the mean. So the guess is the shorter the noisier the
vector was: a model that learnt from such guesses sees how much it may trust one, and needs no other sign of
it. What a ridge regression says of another encoder's vectors (`adaptation`) is timid in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unembed.model.condition import Standardise


@dataclass(frozen=True)
class WienerFilter:
    """The space's mean, and its covariance as axes with a variance each."""

    mean: Tensor  # [D]
    axes: Tensor  # [D, D], a column each
    variance: Tensor  # [D]

    @classmethod
    @torch.no_grad()
    def of(cls, standardise: Standardise) -> WienerFilter:
        """The statistics that a model standardises with: its W is `C^-1/2`."""
        whiten = standardise.whiten.double().cpu()
        scale, axes = torch.linalg.eigh((whiten + whiten.T) / 2)  # [D], [D, D]
        return cls(standardise.mean.float().cpu(), axes.float(), scale.pow(-2).float())

    @property
    def spread(self) -> float:
        """Standard deviation of a vector's number, over all dimensions: what noise is relative to."""
        return float(self.variance.mean().sqrt())

    def __call__(self, vectors: Tensor, sigma: Tensor | float) -> Tensor:
        """The guesses of vectors [B, D] behind noise of sigma, one for all or one each [B].  # [B, D]"""
        noise = torch.as_tensor(sigma, dtype=vectors.dtype).square().reshape(-1, 1)  # [B or 1, 1]
        along = (vectors - self.mean) @ self.axes  # [B, D]
        return self.mean + (along * (self.variance / (self.variance + noise))) @ self.axes.T
