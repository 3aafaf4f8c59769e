"""Entropy-bounded reveal (Ben-Hamu et al., 2025): as many tokens per pass as can be chosen independently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest, share_now, spread, steps_for
from unembed.decode.choose import likeliest


@dataclass(frozen=True)
class EntropyBound(BaseDecoder):
    """Positions in the order of their entropy H, as long as `sum H - max H <= bound` (in nats).

    That difference bounds what is lost by not looking at the others' tokens. Easy texts take few
    passes. To finish within `steps`, it reveals more than the bound allows.
    """

    bound: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    name: ClassVar[str] = "entropy-bound"

    def passes(self, length: int, steps: int | None) -> int:
        return steps_for(length, steps)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = likeliest(logits)  # [M]
        entropy = spread(entropies(logits), wanted, torch.inf)  # [B, L]
        rising = entropy.sort(dim=1, stable=True).values  # [B, L]
        # Up to the k-th smallest, the sum without the largest is the sum of the k - 1 before it.
        allowed = (rising.cumsum(dim=1) - rising <= self.bound) & rising.isfinite()  # [B, L]
        count = torch.maximum(allowed.sum(dim=1), share_now(wanted.sum(dim=1), state))  # [B]
        now = largest(-entropy, count) & wanted  # [B, L]
        chosen = now[wanted]  # [M]
        return state.reveal(now, token[chosen], log_prob[chosen])


def entropies(logits: Tensor) -> Tensor:
    """Entropy of each row's distribution, in nats.  # [M]"""
    log_p = torch.log_softmax(logits, dim=1)  # [M, V]
    p = log_p.exp()
    return -(p * log_p.masked_fill_(p == 0, 0.0)).sum(dim=1)
