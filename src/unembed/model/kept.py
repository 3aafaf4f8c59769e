"""Keys and values that outlast a denoising step: what already stands is not computed again.

In an exact step every position looks at every other anew, so that a token revealed long ago changes a
little with each neighbour that appears. It changes most when it turns from a mask into a word. Keeping
its keys and values from the first pass that saw the word (dKV-Cache, Ma et al., 2025) leaves only the
masks, and the words of the last step, to be computed: an approximation, for those who ask for it.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Kept:
    """A batch's keys and values, layer by layer, and the tokens that they were computed for."""

    def __init__(self, seen: Tensor, layers: list[Tensor]) -> None:
        self.seen = seen  # [B, L]; -1 where nothing has been computed yet
        self.layers = layers  # a layer: keys beside values [B, L, 2D]

    @classmethod
    def nothing(cls, batch: int, length: int, width: int, layers: int, like: Tensor) -> Kept:
        """Before the first pass. like: a tensor of the right type and device."""
        return cls(
            torch.full((batch, length), -1, device=like.device),
            [like.new_zeros(batch, length, 2 * width) for _ in range(layers)],
        )

    def renew(self, xt: Tensor, masked: Tensor, at: Tensor) -> Tensor:
        """The flattened places to be computed in this pass, which are then known to be up to date.

        All masks, for they have yet to decide, and all tokens that have changed; of sequences that
        somebody reads. xt, masked: [B, L]; at: [M] the flattened places that will be read.  # [N]
        """
        read = torch.zeros_like(masked)  # [B, L]
        read.view(-1)[at] = True
        now = read | ((masked | (xt != self.seen)) & read.any(dim=1, keepdim=True))  # [B, L]
        self.seen = torch.where(now, xt, self.seen)
        return now.flatten().nonzero().squeeze(1)

    def select(self, rows: Tensor) -> Kept:
        """The same for some of the sequences; repeats are allowed."""
        return Kept(self.seen[rows], [layer[rows] for layer in self.layers])
