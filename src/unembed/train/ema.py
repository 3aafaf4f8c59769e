"""The averaged weights: what is validated, sampled from and shipped."""

from __future__ import annotations

import copy

import torch

from unembed.model.denoiser import Denoiser


class Average:
    """An exponential moving average of a denoiser's weights, itself a denoiser.

    The decay is warmed up, `min(decay, (1 + step) / (10 + step))`, so that short runs are not held
    back by the weights that they started from.
    """

    def __init__(self, denoiser: Denoiser, decay: float) -> None:
        self.denoiser = copy.deepcopy(denoiser).eval().requires_grad_(False)
        self._decay = decay
        self._mine: list[torch.Tensor] = [*self.denoiser.parameters()]

    @torch.no_grad()
    def update(self, denoiser: Denoiser, step: int) -> None:
        """Move towards the current weights."""
        decay = min(self._decay, (1 + step) / (10 + step))
        theirs: list[torch.Tensor] = [parameter.detach() for parameter in denoiser.parameters()]
        torch._foreach_lerp_(self._mine, theirs, 1.0 - decay)
