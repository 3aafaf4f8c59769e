"""The averaged weights: what is validated, sampled from and shipped."""

from __future__ import annotations

import copy
from typing import Generic, TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)


class Average(Generic[Network]):
    """An exponential moving average of a network's weights, itself such a network.

    The decay is warmed up, `min(decay, (1 + step) / (10 + step))`, so that short runs are not held
    back by the weights that they started from.
    """

    def __init__(self, network: Network, decay: float) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self._decay = decay
        self._mine: list[torch.Tensor] = [*self.network.parameters()]

    @torch.no_grad()
    def update(self, network: Network, step: int) -> None:
        """Move towards the current weights."""
        decay = min(self._decay, (1 + step) / (10 + step))
        theirs: list[torch.Tensor] = [parameter.detach() for parameter in network.parameters()]
        torch._foreach_lerp_(self._mine, theirs, 1.0 - decay)
