"""The lexical head: which words are in the text, wherever they stand.

A vector says much about a text's words and little about their order. This head reads the words off
directly, from the first training step; its logits are added at every position, so that the blocks are
left with order, agreement and function words.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.compute.packed_linear import PackedLinear, linear


class LexicalHead(nn.Module):
    """A two-layer MLP from the standardised vector to one logit per vocabulary entry."""

    def __init__(self, vector_dim: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.up = PackedLinear(vector_dim, hidden)
        self.down = PackedLinear(hidden, vocabulary)

    @torch.no_grad()
    def initialise(self, frequency: Tensor | None = None) -> None:
        """Small weights; the bias is how often each word occurs in a text, `frequency` [V], if known."""
        nn.init.normal_(self.down.weight, std=0.02)
        nn.init.zeros_(self.down.bias)
        if frequency is not None:
            self.down.bias.copy_(torch.logit(frequency.clamp(1e-6, 0.99)))

    def forward(self, e: Tensor, rows: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Logits of every word [B, V], or of those whose weights and biases are given [B, C].

        e: [B, vector_dim] standardised
        """
        inner = F.gelu(self.up(e))  # [B, hidden]
        weight, bias = (self.down.weight, self.down.bias) if rows is None else rows
        return linear(inner, weight.to(inner.dtype), bias.to(inner.dtype))  # [B, V or C]
