"""Each sequence's own short list of words: the first pass reads the whole vocabulary, later ones this.

With a vocabulary of 50,000 the output layer costs as much as five blocks, and after the first pass all
but a few hundred words are out of the question at every position. An approximation, for those who ask for it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class OwnWords(NamedTuple):
    """The words that are left to each sequence of a batch, and their part of the output layer."""

    entries: Tensor  # [B, S] rising
    weight: Tensor  # [B, S, D]
    bias: Tensor  # [B, S]

    def select(self, rows: Tensor) -> OwnWords:
        """The same for some of the sequences."""
        return OwnWords(self.entries[rows], self.weight[rows], self.bias[rows])

    def readout(self, features: Tensor, rows: Tensor, more: Tensor | None) -> Tensor:
        """Logits of the features [M, D] of the sequences `rows` [M], which rise.

        more: [B, V] to be added to the logits of a sequence's every word.  # [M, S]
        """
        batch, size, width = self.weight.shape
        bias = self.bias if more is None else self.bias + more.gather(1, self.entries)  # [B, S]
        count = torch.bincount(rows, minlength=batch)  # [B]
        most = int(count.max())
        slot = torch.arange(len(rows), device=rows.device) - (count.cumsum(0) - count)[rows]  # [M]
        place = rows * most + slot  # [M] among the places of B sequences, `most` each
        full = features.new_zeros(batch * most, width).index_copy(0, place, features)
        logits = torch.baddbmm(bias[:, None], full.view(batch, most, width), self.weight.transpose(1, 2))
        return logits.view(batch * most, size).index_select(0, place)


def likely_words(logits: Tensor, rows: Tensor, batch: int, size: int) -> Tensor:
    """The words that come nearest to being the likeliest at some place of a sequence.

    logits: [M, V] of the sequences `rows` [M], which rise; every sequence has some.  # [B, size] rising
    """
    best = logits.amax(dim=1, keepdim=True)  # [M, 1]
    sizes = torch.bincount(rows, minlength=batch).tolist()
    parts = zip(torch.split(logits, sizes), torch.split(best, sizes), strict=True)
    near = torch.stack([(some - top).amax(dim=0) for some, top in parts])  # [B, V]
    return near.topk(size, dim=1).indices.sort(dim=1).values
