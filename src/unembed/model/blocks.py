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
            qkv = linear(h, self.qkv.weight, self.qkv.bias)  # [B, L, 3D]
            qkv = qkv.view(batch, length, 3, self.heads, width // self.heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)  # 3 x [B, heads, L, D/heads]
        else:
            k, v = self.keys_values(h)
            q = self._queries(h, at)
        mixed = self._mix(q, k, v, padding, memory)  # [B, L, D]
        if at is not None:
            mixed = mixed.view(batch * length, width).index_select(0, at)  # [M, D]
        return linear(mixed, self.out.weight, self.out.bias)  # [B, L, D] or [M, D]

    def renew(
        self,
        h: Tensor,
        places: Tensor,
        read: Tensor | None,
        kept: Tensor,
        memory: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """The same where only some positions are computed, and the others' keys and values are kept.

        h: [N, D] at the flattened `places` [N]; kept: [B, L, 2D], brought up to date there; read: [M]
        which of the N are asked for, if not all.  # [M, D]
        """
        batch, length, _ = kept.shape
        width = h.shape[1]
        if read is None:
            asking, q = places, linear(h, self.qkv.weight, self.qkv.bias)  # [N, 3D]
            q, kv = q[:, :width], q[:, width:]
        else:
            asking = places.index_select(0, read)  # [M]
            q = linear(h.index_select(0, read), self.qkv.weight, self.qkv.bias, last=width)  # [M, D]
            kv = linear(h, self.qkv.weight, self.qkv.bias, first=width)  # [N, 2D]
        kept.view(batch * length, 2 * width).index_copy_(0, places, kv)
        k, v = self._by_head(kept)
        mixed = self._mix(self._spread(q, asking, batch, length), k, v, None, memory)  # [B, L, D]
        mixed = mixed.view(batch * length, width).index_select(0, asking)  # [M, D]
        return linear(mixed, self.out.weight, self.out.bias)

    def _mix(
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
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # [B, heads, L, D/heads]
        return mixed.transpose(1, 2).flatten(2)  # [B, L, D]

    def keys_values(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values alone: of the memory, which asks nothing.  # 2 x [B, heads, L, D/heads]"""
        return self._by_head(linear(h, self.qkv.weight, self.qkv.bias, first=h.shape[2]))

    def _by_head(self, kv: Tensor) -> tuple[Tensor, Tensor]:
        """Keys beside values [B, L, 2D], apart.  # 2 x [B, heads, L, D/heads]"""
        batch, length, both = kv.shape
        k, v = kv.view(batch, length, 2, self.heads, both // (2 * self.heads)).permute(2, 0, 3, 1, 4)
        return k, v

    def _queries(self, h: Tensor, at: Tensor) -> Tensor:
        """Queries where they are needed, zeros elsewhere.  # [B, heads, L, D/heads]"""
        few = h.flatten(0, 1).index_select(0, at)  # [M, D]
        few = linear(few, self.qkv.weight, self.qkv.bias, last=h.shape[2])
        return self._spread(few, at, h.shape[0], h.shape[1])

    def _spread(self, q: Tensor, at: Tensor, batch: int, length: int) -> Tensor:
        """Queries [M, D] at their places, zeros elsewhere.  # [B, heads, L, D/heads]"""
        full = q.new_zeros(batch * length, q.shape[1]).index_copy(0, at, q)  # [B * L, D]
        return full.view(batch, length, self.heads, q.shape[1] // self.heads).transpose(1, 2)


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
        if at is None:
            parts = modulation[:, :, None].unbind(1)  # 4 x [B, 1, D]
            mixed = self.attention(self._before(h, *parts[:2]), padding, memory)  # [B, L, D]
            return self._after(h, mixed, *parts)
        # Where only some positions will be read, the others give keys and values.
        normed = self._before(h, *modulation[:, :2, None].unbind(1))  # [B, L, D]
        mixed = self.attention(normed, padding, memory, at)  # [M, D]
        few = h.flatten(0, 1).index_select(0, at)  # [M, D]
        return self._after(few, mixed, *modulation.index_select(0, at // h.shape[1]).unbind(1))

    def renew(
        self,
        h: Tensor,
        modulation: Tensor,
        places: Tensor,
        read: Tensor | None,
        kept: Tensor,
        memory: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """The next state at some positions, the others standing as they are (see `kept.py`).

        h: [N, D] at the flattened `places` [N]; kept: [B, L, 2D], brought up to date there; read: [M]
        which of the N to return, if not all.  # [M, D]
        """
        parts = modulation.index_select(0, places // kept.shape[1])  # [N, 4, D]
        mixed = self.attention.renew(self._before(h, *parts[:, :2].unbind(1)), places, read, kept, memory)
        if read is not None:
            h, parts = h.index_select(0, read), parts.index_select(0, read)
        return self._after(h, mixed, *parts.unbind(1))

    def _before(self, h: Tensor, gamma1: Tensor, beta1: Tensor) -> Tensor:
        """What attention reads."""
        return modulate(self.attention_norm(h), gamma1, beta1) if self.pre else h

    def _after(
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
