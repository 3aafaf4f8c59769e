"""Where only some positions will be read, a block computes no others. Exact.

Every position still gives keys and values; queries, feed-forward and norms are computed at the chosen
positions only. `Denoiser.hidden` does this in its last block: training reads the masks, and so does decoding.
"""

from __future__ import annotations

from torch import Tensor

from unembed.model.blocks import Attention, Block


def block_at(
    block: Block,
    h: Tensor,
    modulation: Tensor,
    at: Tensor,
    padding: Tensor | None = None,
    memory: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """What `block(...)` gives at chosen positions.  # [M, D]

    h: [B, L, D]; modulation: [B, 4, D]; at: [M] positions in the flattened [B * L].
    """
    batch, length, width = h.shape
    normed = block.attention_input(h, *modulation[:, :2, None].unbind(1))  # [B, L, D]
    k, v = block.attention.keys_values(normed)
    few = normed.flatten(0, 1).index_select(0, at)  # [M, D]
    q = spread_queries(block.attention, block.attention.qkv.rows(few, last=width), at, batch, length)
    mixed = block.attention.mix(q, k, v, padding, memory)  # [B, L, D]
    mixed = block.attention.out(mixed.view(batch * length, width).index_select(0, at))  # [M, D]
    states = h.flatten(0, 1).index_select(0, at)  # [M, D]
    return block.after_attention(states, mixed, *modulation.index_select(0, at // length).unbind(1))


def spread_queries(attention: Attention, q: Tensor, at: Tensor, batch: int, length: int) -> Tensor:
    """Queries [M, D] at their positions, zeros elsewhere.  # [B, heads, L, D/heads]"""
    full = q.new_zeros(batch * length, q.shape[1]).index_copy(0, at, q)  # [B * L, D]
    return full.view(batch, length, attention.heads, q.shape[1] // attention.heads).transpose(1, 2)
