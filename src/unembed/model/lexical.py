"""The lexical head: which words are in the text, wherever they stand.

A vector says much about a text's words and little about their order. This head reads the words off
directly, from the first training step; its logits are added at every position, so that the blocks are
left with order, agreement and function words.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LexicalHead(nn.Module):
    """A two-layer MLP from the standardised vector to one logit a vocabulary entry."""

    def __init__(self, vector_dim: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.up = nn.Linear(vector_dim, hidden)
        self.down = nn.Linear(hidden, vocabulary)

    @torch.no_grad()
    def initialise(self, frequency: Tensor | None = None) -> None:
        """Small weights; the bias is how often each word occurs in a text, `frequency` [V], if known."""
        nn.init.normal_(self.down.weight, std=0.02)
        nn.init.zeros_(self.down.bias)
        if frequency is not None:
            self.down.bias.copy_(torch.logit(frequency.clamp(1e-6, 0.99)))

    def forward(self, e: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Logits of every word [B, V], or of the candidates only [B, C]. e: [B, vector_dim]"""
        inner = F.gelu(self.up(e))  # [B, hidden]
        if candidates is None:
            logits: Tensor = self.down(inner)  # [B, V]
            return logits
        return F.linear(inner, self.down.weight[candidates], self.down.bias[candidates])  # [B, C]
