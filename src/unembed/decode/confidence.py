"""Confidence: reveal the surest positions first; every pass sees what is already revealed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest, share_now, spread, steps_for
from unembed.decode.choose import likeliest


@dataclass(frozen=True)
class Confidence(BaseDecoder):
    """The tokens spread evenly over the steps, the remainder over the first ones; none is left masked.

    `by` says what "sure" means: the likeliest token's probability, or its margin over the second.
    """

    by: Literal["probability", "margin"] = "probability"
    name: ClassVar[str] = "confidence"

    def passes(self, length: int, steps: int | None) -> int:
        return steps_for(length, steps)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = likeliest(logits)  # [M]
        sure = spread(surety(logits, log_prob, self.by), wanted, -torch.inf)  # [B, L]
        now = largest(sure, share_now(wanted.sum(dim=1), state)) & wanted  # [B, L]
        chosen = now[wanted]  # [M]
        return state.reveal(now, token[chosen], log_prob[chosen])


def surety(logits: Tensor, log_prob: Tensor, by: str) -> Tensor:
    """How sure the model is at each position. log_prob: [M] of its likeliest token.  # [M]"""
    if by == "probability":
        return log_prob
    two = logits.topk(2, dim=1).values  # [M, 2]
    second = log_prob + two[:, 1] - two[:, 0]  # [M]
    return log_prob.exp() - second.exp()
