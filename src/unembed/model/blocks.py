"""The transformer block, its norms modulated by the condition (equations 8-10).

One block serves three families: the paper's (pre-norm), BERT's (post-norm) and ModernBERT's (pre-norm,
rotary, gated). A modulation of zero leaves it a plain block, so pretrained weights start unharmed;
there are no gates that could silence it.

An encoder's BERT (`encoders/bert.py`) is another module: it runs on texts of many lengths laid end to end,
and has neither modulation nor memory. `backbone.py` copies its weights into these blocks.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.compute.packed_linear import PackedLinear, feed_forward
from unembed.compute.short_attention import attention
from unembed.model.config import BlockConfig

# Shift and scale of a block's two norms: gamma1, beta1, gamma2, beta2.
MODULATIONS = 4


class Attention(nn.Module):
    """Bidirectional attention over the sequence and, where there is one, the memory."""

    def __init__(self, config: BlockConfig, rotary: float | None) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = PackedLinear(config.hidden, 3 * config.hidden, bias=config.bias)
        self.out = PackedLinear(config.hidden, config.hidden, bias=config.bias)
        self.rotary = rotary

    def forward(
        self, h: Tensor, padding: Tensor | None = None, memory: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """h: [B, L, D]; padding: [B, L]; memory: keys and values [B, heads, K, D/heads].  # [B, L, D]"""
        q, k, v = self.split_heads(self.qkv(h), 3)  # 3 x [B, heads, L, D/heads]
        out: Tensor = self.out(self.mix(q, k, v, padding, memory))
        return out

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, padding: Tensor | None, memory: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Attention itself, over the sequence and the memory. q, k, v: [B, heads, L, D/heads]  # [B, L, D]"""
        if self.rotary is not None:
            q, k = rotate(q, self.rotary), rotate(k, self.rotary)
        if memory is not None:
            k = torch.cat([k, memory[0]], dim=2)  # [B, heads, L + K, D/heads]
            v = torch.cat([v, memory[1]], dim=2)
        mask = None
        if padding is not None:
            visible = ~padding  # [B, L]
            if memory is not None:
                visible = F.pad(visible, (0, memory[0].shape[2]), value=True)  # [B, L + K]
            mask = visible[:, None, None, :]  # [B, 1, 1, L + K]
        mixed = attention(q, k, v, mask)  # [B, heads, L, D/heads]
        return mixed.transpose(1, 2).flatten(2)  # [B, L, D]

    def keys_values(self, h: Tensor) -> tuple[Tensor, ...]:
        """Keys and values without queries: all that the memory needs.  # 2 x [B, heads, L, D/heads]"""
        return self.split_heads(self.qkv.rows(h, first=h.shape[2]), 2)

    def split_heads(self, joined: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Queries, keys, values side by side [B, L, parts * D], apart.  # parts x [B, heads, L, D/heads]"""
        batch, length, width = joined.shape
        by_head = joined.view(batch, length, parts, self.heads, width // (parts * self.heads))
        return by_head.permute(2, 0, 3, 1, 4).unbind(0)


class FeedForward(nn.Module):
    """Two linear layers with GELU between them; gated, the first one makes the gate too."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.gated = config.gated
        self.up = PackedLinear(config.hidden, config.ffn * (2 if config.gated else 1), bias=config.bias)
        self.down = PackedLinear(config.ffn, config.hidden, bias=config.bias)

    def forward(self, h: Tensor) -> Tensor:
        if not self.gated:
            return feed_forward(h, self.up, self.down)  # [B, L, D]
        value, gate = self.up(h).chunk(2, dim=-1)  # 2 x [B, L, F]
        out: Tensor = self.down(F.gelu(value) * gate)  # [B, L, D]
        return out


class Block(nn.Module):
    """Attention and feed-forward, each with a norm that the condition shifts and scales."""

    def __init__(self, config: BlockConfig, layer: int) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        has_first = config.first_norm or layer > 0
        self.attention = Attention(config, config.rotary[layer] if config.rotary else None)
        self.attention_norm = layer_norm(config) if has_first else nn.Identity()
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = layer_norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        h: Tensor,
        modulation: Tensor,
        padding: Tensor | None = None,
        memory: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """The next state of every position.  # [B, L, D]

        h: [B, L, D]; modulation: [B, 4, D]; padding: [B, L] true where there is no token.
        """
        gamma1, beta1, gamma2, beta2 = modulation[:, :, None].unbind(1)  # 4 x [B, 1, D]
        mixed = self.attention(self.attention_input(h, gamma1, beta1), padding, memory)  # [B, L, D]
        return self.after_attention(h, mixed, gamma1, beta1, gamma2, beta2)

    def attention_input(self, h: Tensor, gamma1: Tensor, beta1: Tensor) -> Tensor:
        """What attention reads: the modulated norm (pre-norm), or the state itself (post-norm)."""
        return modulate(self.attention_norm(h), gamma1, beta1) if self.pre else h

    def after_attention(
        self, h: Tensor, mixed: Tensor, gamma1: Tensor, beta1: Tensor, gamma2: Tensor, beta2: Tensor
    ) -> Tensor:
        """From attention's result to the next state, at the positions of h."""
        h = h + self.dropout(mixed)
        if self.pre:
            normed = modulate(self.feed_forward_norm(h), gamma2, beta2)
            out: Tensor = h + self.dropout(self.feed_forward(normed))
            return out
        h = modulate(self.attention_norm(h), gamma1, beta1)
        h = h + self.dropout(self.feed_forward(h))
        return modulate(self.feed_forward_norm(h), gamma2, beta2)


def modulate(normed: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Equation (10), with the scale counted from one: zero modulation leaves the norm as it was."""
    return torch.addcmul(beta, normed, 1.0 + gamma)


def embedding(entries: int, width: int) -> nn.Embedding:
    """A table to be filled later: numbers that a checkpoint replaces would cost a second of every start."""
    return nn.Embedding(entries, width, _weight=torch.empty(entries, width))


def layer_norm(config: BlockConfig) -> nn.LayerNorm:
    """The norm of this family of blocks."""
    return nn.LayerNorm(config.hidden, eps=config.norm_eps, bias=config.bias)


def rotate(x: Tensor, base: float) -> Tensor:
    """Rotary position embedding of queries or keys.  # [B, heads, L, d]"""
    length, width = x.shape[-2:]
    frequency = base ** (-torch.arange(0, width, 2, device=x.device, dtype=torch.float32) / width)  # [d/2]
    angle = torch.arange(length, device=x.device, dtype=torch.float32)[:, None] * frequency  # [L, d/2]
    cos, sin = angle.cos().repeat(1, 2).to(x.dtype), angle.sin().repeat(1, 2).to(x.dtype)  # [L, d]
    left, right = x.chunk(2, dim=-1)  # 2 x [B, heads, L, d/2]
    return x * cos + torch.cat([-right, left], dim=-1) * sin
