"""A KV cache: tokens that were revealed in an earlier pass are not computed again. Approximate.

In an exact pass every position attends to every other afresh, so the keys and values of a token that was
revealed long ago still change a little with each neighbour that appears. They change most when a mask turns
into a word. Keeping them from the first pass that saw the word (dKV-Cache, Ma et al., 2025) leaves only the
masks, and the words of the last step, to be computed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from unembed.model.blocks import Attention, Block
from unembed.model.denoiser import Denoiser, Prepared
from unembed.model.fast.few_positions import spread_queries


class KVCache:
    """A batch's keys and values, layer by layer, and the tokens that they were computed for."""

    def __init__(self, seen: Tensor, layers: list[Tensor]) -> None:
        self.seen = seen  # [B, L]; -1 where nothing has been computed yet
        self.layers = layers  # per layer: keys beside values [B, L, 2D]

    @classmethod
    def empty(cls, prepared: Prepared, length: int) -> KVCache:
        """Before the first pass over sequences of one length."""
        batch, layers, _, width = prepared.modulation.shape
        return cls(
            torch.full((batch, length), -1, device=prepared.modulation.device),
            [prepared.modulation.new_zeros(batch, length, 2 * width) for _ in range(layers)],
        )

    def update(self, xt: Tensor, masked: Tensor, padding: Tensor | None, at: Tensor) -> Tensor:
        """The flattened positions that this pass computes; they count as up to date from here on.

        All masks, because they are still undecided, and all tokens that have changed, in sequences that
        are read. xt, masked, padding: [B, L]; at: [M] the flattened positions that will be read.  # [N]
        """
        read = torch.zeros_like(masked)  # [B, L]
        read.view(-1)[at] = True
        changed = masked | (xt != self.seen)  # [B, L]
        if padding is not None:
            changed &= ~padding
        now = read | (changed & read.any(dim=1, keepdim=True))  # [B, L]
        self.seen = torch.where(now, xt, self.seen)
        return now.flatten().nonzero().squeeze(1)

    def select(self, rows: Tensor) -> KVCache:
        """The same for some of the sequences; repeats are allowed."""
        return KVCache(self.seen[rows], [layer[rows] for layer in self.layers])


def hidden_with_kv_cache(
    denoiser: Denoiser,
    xt: Tensor,
    t: Tensor,
    prepared: Prepared,
    cache: KVCache,
    padding: Tensor | None = None,
    *,
    at: Tensor,
) -> Tensor:
    """`Denoiser.hidden` at chosen positions, with the keys and values of older tokens from the cache.

    xt: [B, L] tokens and masks; t: [B]; padding: [B, L] true beyond a sequence's length; at: [M] rising
    positions in the flattened [B * L].  # [M, D]
    """
    positions = cache.update(xt, xt == denoiser.config.mask_id, padding, at)  # [N]
    h = denoiser.embed(xt.flatten()[positions])  # [N, D]
    if denoiser.position is not None:
        h = h + denoiser.position.weight[positions % xt.shape[1]]
    h = denoiser.input_norm(h)
    modulation = denoiser.condition.at_time(prepared.modulation, t)  # [B, layers, 4, D]
    last = len(denoiser.blocks) - 1
    for layer, block in enumerate(denoiser.blocks):
        assert isinstance(block, Block)
        memory = None if prepared.memory is None else prepared.memory[layer]
        read = torch.searchsorted(positions, at) if layer == last else None  # [M]
        h = _block(block, h, modulation[:, layer], positions, read, cache.layers[layer], padding, memory)
    out: Tensor = denoiser.output_norm(h)
    return out


def _block(
    block: Block,
    h: Tensor,
    modulation: Tensor,
    positions: Tensor,
    read: Tensor | None,
    cached: Tensor,
    padding: Tensor | None,
    memory: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """The next state at some positions.  # [M, D]

    h: [N, D] at the flattened `positions` [N]; cached: [B, L, 2D], updated there; read: [M] which of the N
    to return, if not all.
    """
    parts = modulation.index_select(0, positions // cached.shape[1])  # [N, 4, D]
    normed = block.attention_input(h, *parts[:, :2].unbind(1))  # [N, D]
    mixed = _attention(block.attention, normed, positions, read, cached, padding, memory)  # [M, D]
    if read is not None:
        h, parts = h.index_select(0, read), parts.index_select(0, read)
    return block.after_attention(h, mixed, *parts.unbind(1))


def _attention(
    attention: Attention,
    h: Tensor,
    positions: Tensor,
    read: Tensor | None,
    cached: Tensor,
    padding: Tensor | None,
    memory: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Attention at some positions, over the cached keys and values of all.  # [M, D]"""
    batch, length, _ = cached.shape
    width = h.shape[1]
    if read is None:
        asking, qkv = positions, attention.qkv(h)  # [N, 3D]
        q, kv = qkv[:, :width], qkv[:, width:]
    else:
        asking = positions.index_select(0, read)  # [M]
        q = attention.qkv.rows(h.index_select(0, read), last=width)  # [M, D]
        kv = attention.qkv.rows(h, first=width)  # [N, 2D]
    cached.view(batch * length, 2 * width).index_copy_(0, positions, kv)
    k, v = attention.split_heads(cached, 2)
    q = spread_queries(attention, q, asking, batch, length)
    mixed = attention.mix(q, k, v, padding, memory)  # [B, L, D]
    out: Tensor = attention.out(mixed.view(batch * length, width).index_select(0, asking))  # [M, D]
    return out
