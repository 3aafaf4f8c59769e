"""Attention over few tokens on the CPU: plain products instead of a kernel for long texts.

torch's kernel works through blocks of hundreds of tokens, and its backward pass computes the scores again, in
bf16 without the fast products; torch's softmax falls back to one number at a time where a row is shorter
than a vector register. For a sentence's tokens both cost several times what the arithmetic does. Here
training keeps the weights for the backward pass, and computes in float32, whatever comes in. The same up to
rounding.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

KEYS = 32  # at most; beyond it torch's kernel is as fast
REGISTER = 16  # numbers; torch's softmax of shorter rows is slow


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """`softmax(q k^T / sqrt(d)) v`. q: [B, heads, L, d]; k, v: [B, heads, K, d]  # [B, heads, L, d]"""
    learning = torch.is_grad_enabled() and q.requires_grad
    if not learning and _few(q, k):
        return _plain(q, k, v, mask)
    if not (learning and q.device.type == "cpu"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    if mask is None and k.shape[2] <= KEYS:
        out: Tensor = _ShortAttention.apply(q, k, v)  # type: ignore[no-untyped-call]
        return out
    # The kernel's backward pass in bf16 takes several times as long as in float32.
    return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=mask).to(q.dtype)


def _few(q: Tensor, k: Tensor) -> bool:
    return q.device.type == "cpu" and q.dtype == torch.float32 and 0 < k.shape[2] <= KEYS


def _plain(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Nothing is kept for a backward pass."""
    queries, keys, values = _flat(q), _flat(k), _flat(v)  # [B * heads, L or K, d]
    scores = torch.bmm(queries, keys.transpose(1, 2)).mul_(q.shape[-1] ** -0.5)  # [B * heads, L, K]
    if mask is not None:
        scores.view(*q.shape[:3], -1).masked_fill_(~mask, -torch.inf)
    if scores.shape[2] < REGISTER:
        weights = scores.sub_(scores.amax(dim=2, keepdim=True)).exp_()
        weights = weights.div_(weights.sum(dim=2, keepdim=True))
    else:
        weights = scores.softmax(dim=2)
    return torch.bmm(weights, values).view(q.shape)


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scale = q.shape[-1] ** -0.5
        queries, keys, values = _flat(q), _flat(k), _flat(v)  # [B * heads, L or K, d]
        scores = torch.bmm(queries, keys.transpose(1, 2))  # [B * heads, L, K]
        weights = scores.sub_(scores.amax(dim=2, keepdim=True)).mul_(scale).exp_()
        weights = weights.div_(weights.sum(dim=2, keepdim=True))
        ctx.save_for_backward(queries, keys, values, weights)
        ctx.scale, ctx.dtype = scale, q.dtype
        return torch.bmm(weights, values).view(q.shape).to(q.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        queries, keys, values, weights = ctx.saved_tensors
        batch, heads = gradients[0].shape[:2]
        out = _flat(gradients[0])  # [B * heads, L, d]
        of_weights = torch.bmm(out, values.transpose(1, 2))  # [B * heads, L, K]
        of_scores = of_weights.mul_(weights)
        of_scores.addcmul_(weights, of_scores.sum(dim=2, keepdim=True), value=-1.0).mul_(ctx.scale)
        found = (
            torch.bmm(of_scores, keys),
            torch.bmm(of_scores.transpose(1, 2), queries),
            torch.bmm(weights.transpose(1, 2), out),
        )
        return tuple(x.view(batch, heads, *x.shape[1:]).to(ctx.dtype) for x in found)


def _flat(x: Tensor) -> Tensor:
    """[B, heads, L, d] as float32 [B * heads, L, d], in one copy."""
    return x.to(torch.float32, memory_format=torch.contiguous_format).flatten(0, 1)
