"""A shortlist of words per sequence: the first pass reads the whole vocabulary, later ones this. Approximate.

With a vocabulary of 50,000 the output layer costs as much as five blocks, and after the first pass all
but a few hundred words are out of the question at every position.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from unembed.model.denoiser import Denoiser, Prepared


class WordShortlist(NamedTuple):
    """The words that are left to each sequence of a batch, and their rows of the output layer."""

    entries: Tensor  # [B, S] rising
    weight: Tensor  # [B, S, D]
    bias: Tensor  # [B, S]

    @classmethod
    def gather(cls, denoiser: Denoiser, entries: Tensor) -> WordShortlist:
        """The output layer's rows for these entries [B, S]."""
        return cls(entries, F.embedding(entries, denoiser.token.weight), denoiser.output_bias[entries])

    def select(self, rows: Tensor) -> WordShortlist:
        """The same for some of the sequences."""
        return WordShortlist(self.entries[rows], self.weight[rows], self.bias[rows])

    def logits(
        self,
        denoiser: Denoiser,
        h: Tensor,
        rows: Tensor,
        prepared: Prepared,
        xt: Tensor,
        padding: Tensor | None = None,
    ) -> Tensor:
        """`Denoiser.logits` for each sequence's own words: h [M, D] of the sequences `rows` [M].  # [M, S]"""
        return self.readout(denoiser.features(h), rows, denoiser.words(prepared, xt, padding=padding))

    def readout(self, features: Tensor, rows: Tensor, words: Tensor | None) -> Tensor:
        """Logits of the features [M, D] of the sequences `rows` [M], which rise.

        words: [B, V] the lexical head's part, added to a sequence's every position.  # [M, S]
        """
        batch, size, width = self.weight.shape
        bias = self.bias if words is None else self.bias + words.gather(1, self.entries)  # [B, S]
        count = torch.bincount(rows, minlength=batch)  # [B]
        most = int(count.max())
        # One product per sequence: B sequences with `most` slots each.
        slot = torch.arange(len(rows), device=rows.device) - (count.cumsum(0) - count)[rows]  # [M]
        index = rows * most + slot  # [M]
        full = features.new_zeros(batch * most, width).index_copy(0, index, features)
        logits = torch.baddbmm(bias[:, None], full.view(batch, most, width), self.weight.transpose(1, 2))
        return logits.view(batch * most, size).index_select(0, index)


def likely_words(logits: Tensor, rows: Tensor, batch: int, size: int) -> Tensor:
    """The words that come nearest to being the likeliest at some position of a sequence.

    logits: [M, V] of the sequences `rows` [M], which rise; every sequence has some.  # [B, size] rising
    """
    best = logits.amax(dim=1, keepdim=True)  # [M, 1]
    sizes = torch.bincount(rows, minlength=batch).tolist()
    parts = zip(torch.split(logits, sizes), torch.split(best, sizes), strict=True)
    near = torch.stack([(some - top).amax(dim=0) for some, top in parts])  # [B, V]
    return near.topk(size, dim=1).indices.sort(dim=1).values
