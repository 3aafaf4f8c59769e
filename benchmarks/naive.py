"""The same training step written straight down, for `train_step.py` to compare with.

Logits over the whole vocabulary at every position, masked afterwards; every block asks for its condition
itself, attention is spelt out, groups are handled one by one; optimiser and average as torch's defaults
and a loop have them. Weights and loss are those of `Objective`, which the benchmark checks.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.model.condition import time_features
from unembed.model.denoiser import Denoiser
from unembed.training.corrupted_batch import CorruptedBatch, Group
from unembed.training.training_objective import Objective


class Naive(nn.Module):
    """`per_position`: the condition is projected for every position, as where it is added to the tokens;
    otherwise for every sequence, in every block."""

    def __init__(self, objective: Objective, *, per_position: bool) -> None:
        super().__init__()
        self.objective = objective
        self.per_position = per_position

    def forward(self, step: CorruptedBatch) -> Tensor:
        denoiser, config = self.objective.denoiser, self.objective._config
        loss = sum((self.denoising(denoiser, group) for group in step.groups), torch.zeros(()))
        if step.heads is not None:
            heads = self.objective._head_losses([step.heads], None, None)
            loss = loss + config.lexical_weight * heads.get("lexical", 0.0)
            loss = loss + config.length_weight * heads.get("length", 0.0)
        return loss

    def denoising(self, denoiser: Denoiser, group: Group) -> Tensor:
        """Equation (4) of one group."""
        xt = torch.where(group.masked, denoiser.config.mask_id, group.x0)  # [B, L]
        h = denoiser.token(xt)  # [B, L, D]
        if denoiser.position is not None:
            h = h + denoiser.position(torch.arange(xt.shape[1]))
        h = denoiser.input_norm(h)
        layers = len(denoiser.blocks)
        from_vector = per_layer(denoiser.condition.vector_modulation, layers)
        from_time = per_layer(denoiser.condition.time_modulation, layers)
        for layer, block in enumerate(denoiser.blocks):
            modulation = self.modulation(denoiser, group, from_vector[layer], from_time[layer])
            h = naive_block(block, h, modulation)
        h = denoiser.output_norm(h)
        logits = F.linear(denoiser.features(h), denoiser.token.weight[:-1], denoiser.output_bias)  # [B, L, V]
        if denoiser.lexical is not None:
            prepared = denoiser.prepare(group.vectors, group.lengths)
            logits = logits + denoiser.words(prepared, xt)[:, None]
        entropy = F.cross_entropy(logits.flatten(0, 1), group.x0.flatten(), reduction="none")  # [B * L]
        entropy = entropy.view_as(group.x0) * group.masked  # [B, L]
        return (entropy.sum(dim=1) * group.scale).sum()

    def modulation(self, denoiser: Denoiser, group: Group, vector: tuple, time: tuple | None) -> Tensor:
        """This block's gammas and betas.  # [B, 1 or L, 4, D]"""
        condition = denoiser.condition
        reach = group.x0.shape[1] if self.per_position else 1
        e = denoiser.standardise(group.vectors)[:, None].expand(-1, reach, -1)  # [B, 1 or L, vector_dim]
        c = condition.project_out(F.gelu(condition.project_in(e)))
        if condition.length is not None:
            c = c + condition.length(group.lengths)[:, None]
        out = F.linear(c, *vector)  # [B, 1 or L, 4 D]
        if time is not None:
            out = out + F.linear(time_features(group.t)[:, None], *time)
        return out.view(len(e), reach, 4, -1)


def per_layer(linear: nn.Linear | None, layers: int) -> list:
    """Each layer's own weight and bias, as if it had a module of its own."""
    if linear is None:
        return [None] * layers
    weights = linear.weight.view(layers, -1, linear.weight.shape[1]).unbind(0)
    return list(zip(weights, linear.bias.view(layers, -1).unbind(0), strict=True))


def naive_block(block: nn.Module, h: Tensor, modulation: Tensor) -> Tensor:
    """Attention and feed-forward with modulated norms, before (paper) or after (BERT) each part."""
    gamma1, beta1, gamma2, beta2 = modulation.unbind(2)  # 4 x [B, 1 or L, D]
    if block.pre:
        h = h + block.dropout(naive_attention(block, (1 + gamma1) * block.attention_norm(h) + beta1))
        return h + block.dropout(block.feed_forward((1 + gamma2) * block.feed_forward_norm(h) + beta2))
    h = (1 + gamma1) * block.attention_norm(h + block.dropout(naive_attention(block, h))) + beta1
    return (1 + gamma2) * block.feed_forward_norm(h + block.dropout(block.feed_forward(h))) + beta2


def naive_attention(block: nn.Module, h: Tensor) -> Tensor:
    """softmax(q k / sqrt(d)) v, with the matrix of weights in memory."""
    batch, length, width = h.shape
    heads = block.attention.heads
    q, k, v = block.attention.qkv(h).chunk(3, dim=-1)  # 3 x [B, L, D]
    q, k, v = (x.view(batch, length, heads, -1).transpose(1, 2) for x in (q, k, v))  # [B, heads, L, d]
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)  # [B, heads, L, L]
    return block.attention.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


@torch.no_grad()
def naive_average(average: list[Tensor], parameters: list[Tensor], decay: float) -> None:
    """The moving average, weight by weight."""
    for mine, theirs in zip(average, parameters, strict=True):
        mine.mul_(decay).add_(theirs, alpha=1 - decay)
