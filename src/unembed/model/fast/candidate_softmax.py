"""The candidate softmax: in training, a token competes with some thousand others instead of with all.

The candidates are the batch's own tokens and a draw by frequency, shared by the whole batch. It is another
loss, not an approximation of the same one; at inference the softmax runs over the full vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from unembed.model.denoiser import Denoiser


class Candidates(NamedTuple):
    """The entries that take part in a training step's softmax, and the column of each entry."""

    entries: Tensor  # [C] rising
    column: Tensor  # [V + 1] the column of an entry; 0 for those that do not take part, C for [MASK]


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
        column = torch.zeros(last + 2, dtype=torch.long)  # [V + 1], the last is [MASK]'s
        column[entries] = torch.arange(len(entries))
        column[-1] = len(entries)
        return Candidates(entries, column)


class CandidateWeights(NamedTuple):
    """The candidates' rows of the vocabulary's matrices, gathered once per step.

    The gradient of a gather is as large as the whole matrix: one per step is enough, one for every group
    and every look-up would cost more than the blocks' smaller products.
    """

    entries: Tensor  # [C]
    column: Tensor  # [V + 1]
    token: Tensor  # [C + 1, D] the last row is [MASK]
    bias: Tensor  # [C]
    lexical: tuple[Tensor, Tensor] | None  # weight [C, hidden] and bias [C] of the lexical head's last layer

    @classmethod
    def gather(cls, denoiser: Denoiser, candidates: Candidates) -> CandidateWeights:
        """Their rows of the denoiser's matrices."""
        entries = candidates.entries  # [C]
        rows = F.pad(entries, (0, 1), value=denoiser.config.mask_id)  # [C + 1]
        down = None if denoiser.lexical is None else denoiser.lexical.down
        return cls(
            entries,
            candidates.column,
            denoiser.token.weight.index_select(0, rows),
            denoiser.output_bias[entries],
            None if down is None else (down.weight.index_select(0, entries), down.bias[entries]),
        )

    def embed(self, entries: Tensor) -> Tensor:
        """`Denoiser.embed` of candidates and masks.  # [B, L, D]"""
        return F.embedding(self.column[entries], self.token)

    def readout(self, features: Tensor) -> Tensor:
        """`Denoiser.readout` of the candidates alone.  # [M, C]"""
        return F.linear(features, self.token[:-1].to(features.dtype), self.bias.to(features.dtype))
