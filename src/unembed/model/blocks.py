"""The transformer block, its norms modulated by the condition (equations 8-10).

One block serves three families: the paper's (pre-norm), BERT's (post-norm) and ModernBERT's (pre-norm,
rotary, gated). A modulation of zero leaves it a plain block, so pretrained weights start unharmed;
there are no gates that could silence it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.model.config import BlockConfig
from unembed.model.packed import linear

# Shift and scale of a block's two norms: gamma1, beta1, gamma2, beta2.
MODULATIONS = 4


class Attention(nn.Module):
    """Bidirectional attention over the sequence and, where there is one, the memory."""

    def __init__(self, config: BlockConfig, rotary: float | None) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden, bias=config.bias)
        self.out = nn.Linear(config.hidden, config.hidden, bias=config.bias)
        self.rotary = rotary

    def forward(
        self,
        h: Tensor,
        padding: Tensor | None,
        memory: tuple[Tensor, Tensor] | None,
        at: Tensor | None = None,
    ) -> Tensor:
        """h: [B, L, D]; at: [M] of the flattened positions, the only ones to be returned."""
        batch, length, width = h.shape
        if at is None:
            q, k, v = (
                linear(h, self.qkv.weight, self.qkv.bias)
                .unflatten(2, (3, self.heads, -1))
                .permute(2, 0, 3, 1, 4)
            )  # 3 x [B, heads, L, D/heads]
        else:
            k, v = self.keys_values(h)
            q = self._queries(h, at)
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
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # [B, heads, L, D/heads]
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)  # [B, L, D]
        if at is not None:
            mixed = mixed.view(batch * length, width).index_select(0, at)  # [M, D]
        return linear(mixed, self.out.weight, self.out.bias)  # [B, L, D] or [M, D]

    def keys_values(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values alone: of the memory, which asks nothing.  # 2 x [B, heads, L, D/heads]"""
        batch, length, width = h.shape
        kv = linear(h, self.qkv.weight, self.qkv.bias, first=width)  # [B, L, 2D]
        kv = kv.view(batch, length, 2, self.heads, width // self.heads)
        k, v = kv.permute(2, 0, 3, 1, 4)
        return k, v

    def _queries(self, h: Tensor, at: Tensor) -> Tensor:
        """Queries where they are needed, zeros elsewhere.  # [B, heads, L, D/heads]"""
        batch, length, width = h.shape
        few = h.flatten(0, 1).index_select(0, at)  # [M, D]
        few = linear(few, self.qkv.weight, self.qkv.bias, last=width)
        q = few.new_zeros(batch * length, width).index_copy(0, at, few)  # [B * L, D]
        return q.view(batch, length, self.heads, width // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear layers with GELU between them; gated, the first one makes the gate too."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.gated = config.gated
        self.up = nn.Linear(config.hidden, config.ffn * (2 if config.gated else 1), bias=config.bias)
        self.down = nn.Linear(config.ffn, config.hidden, bias=config.bias)

    def forward(self, h: Tensor) -> Tensor:
        inner = linear(h, self.up.weight, self.up.bias)  # [B, L, F] or [B, L, 2F]
        if self.gated:
            value, gate = inner.chunk(2, dim=-1)
            inner = F.gelu(value) * gate  # [B, L, F]
        else:
            inner = F.gelu(inner)
        return linear(inner, self.down.weight, self.down.bias)  # [B, L, D]


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
        at: Tensor | None = None,
    ) -> Tensor:
        """The next state at every position [B, L, D], or only at those asked for [M, D].

        h: [B, L, D]; modulation: [B, 4, D]; padding: [B, L] true where there is no token; at: [M]
        positions in the flattened [B * L].
        """
        if at is not None:
            return self._few(h, modulation, padding, memory, at)
        gamma1, beta1, gamma2, beta2 = modulation[:, :, None].unbind(1)  # 4 x [B, 1, D]
        if self.pre:
            normed = modulate(self.attention_norm(h), gamma1, beta1)  # [B, L, D]
            h = h + self.dropout(self.attention(normed, padding, memory))
            normed = modulate(self.feed_forward_norm(h), gamma2, beta2)
            out: Tensor = h + self.dropout(self.feed_forward(normed))
            return out
        h = h + self.dropout(self.attention(h, padding, memory))
        h = modulate(self.attention_norm(h), gamma1, beta1)
        h = h + self.dropout(self.feed_forward(h))
        return modulate(self.feed_forward_norm(h), gamma2, beta2)

    def _few(
        self,
        h: Tensor,
        modulation: Tensor,
        padding: Tensor | None,
        memory: tuple[Tensor, Tensor] | None,
        at: Tensor,
    ) -> Tensor:
        """The same where only some positions will be read: the others give keys and values.  # [M, D]"""
        length = h.shape[1]
        gamma1, beta1, gamma2, beta2 = modulation.index_select(0, at // length).unbind(1)  # 4 x [M, D]
        few = h.flatten(0, 1).index_select(0, at)  # [M, D]
        if self.pre:
            normed = modulate(self.attention_norm(h), *modulation[:, :2, None].unbind(1))  # [B, L, D]
            few = few + self.dropout(self.attention(normed, padding, memory, at))
            normed = modulate(self.feed_forward_norm(few), gamma2, beta2)  # [M, D]
            out: Tensor = few + self.dropout(self.feed_forward(normed))
            return out
        few = few + self.dropout(self.attention(h, padding, memory, at))
        few = modulate(self.attention_norm(few), gamma1, beta1)
        few = few + self.dropout(self.feed_forward(few))
        return modulate(self.feed_forward_norm(few), gamma2, beta2)


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
