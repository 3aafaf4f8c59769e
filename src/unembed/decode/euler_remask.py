"""Euler with re-masking: what was revealed least confidently is taken back and tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest
from unembed.decode.choose import sampled
from unembed.decode.euler import WHAT, WHERE, euler_steps, reveal_share
from unembed.errors import UsageError

ROUNDING = 2  # channel


@dataclass(frozen=True)
class EulerRemask(BaseDecoder):
    """After every step but the last, the least likely `share` of the revealed tokens is masked again.

    A share of few tokens is rarely a whole number: it is rounded at random, right on average.
    """

    share: float = 0.05
    temperature: float = 1.0
    name: str = "euler-remask"
    asks_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.share < 1.0:
            raise UsageError(f"The share to re-mask must be at least 0 and below 1, got {self.share}.")

    def passes(self, length: int, steps: int | None) -> int:
        return euler_steps(length, steps)

    def wanted(self, state: State) -> Tensor:
        return state.masked & (state.uniform(WHERE) < reveal_share(state))

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = sampled(logits, state.uniform(WHAT)[wanted], self.temperature)  # [M]
        after = state.reveal(wanted, token, log_prob)
        if state.step + 1 >= state.steps:
            return after
        revealed = ~after.masked  # [B, L]
        exact = self.share * revealed.sum(dim=1)  # [B]
        count = torch.floor(exact + state.uniform(ROUNDING)[:, 0]).long()  # [B]
        doubt = (-after.log_prob).masked_fill(~revealed, -torch.inf)  # [B, L]
        return after.remask(largest(doubt, count) & revealed)
