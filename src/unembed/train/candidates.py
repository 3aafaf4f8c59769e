"""The candidate softmax: in training, a token competes with some thousand others instead of with all.

The candidates are the batch's own tokens and a draw by frequency, shared by the whole batch. At
inference the softmax runs over the full vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unembed.model.shortlist import Candidates


class CandidateDraw:
    """Draws candidates with probability proportional to `count ** power`."""

    def __init__(self, counts: Tensor, size: int, power: float) -> None:
        weight = counts.double().clamp(min=1.0) ** power  # [V]
        self._cumulative = (weight / weight.sum()).cumsum(0)
        self._size = size

    def __call__(self, present: Tensor, generator: torch.Generator) -> Candidates:
        """`present`: the entries of the batch, which always take part."""
        uniform = torch.rand(self._size, generator=generator, dtype=torch.double)
        last = len(self._cumulative) - 1
        drawn = torch.searchsorted(self._cumulative, uniform).clamp(max=last)
        entries = torch.unique(torch.cat([present.flatten(), drawn]))  # [C]
        place = torch.zeros(last + 2, dtype=torch.long)  # [V + 1], the last is [MASK]'s
        place[entries] = torch.arange(len(entries))
        place[-1] = len(entries)
        return Candidates(entries, place)
