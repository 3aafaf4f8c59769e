"""Euler with re-masking: what was revealed least confidently is taken back and tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest
from unembed.decode.choose import sampled
from unembed.decode.euler import WHAT, WHERE, euler_steps, reveal_share

ROUNDING = 2  # channel


@dataclass(frozen=True)
class EulerRemask(BaseDecoder):
    """After every step but the last, the least likely `share` of the revealed tokens is masked again.

    A share of few tokens is rarely a whole number: it is rounded at random, right on average.
    """

    share: Annotated[float, Field(ge=0, lt=1)] = 0.05
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    name: ClassVar[str] = "euler-remask"
    asks_all: ClassVar[bool] = False

    def passes(self, length: int, steps: int | None) -> int:
        return euler_steps(length, steps)

    def wanted(self, state: State) -> Tensor:
        return state.masked & (state.uniform(WHERE) < reveal_share(state))

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = sampled(logits, state.uniform(WHAT)[wanted], self.temperature)  # [M]
        after = state.reveal(wanted, token, log_prob)
        revealed = after.revealed & (state.steps_left > 1)[:, None]  # what a last step reveals stays
        exact = self.share * revealed.sum(dim=1)  # [B]
        count = torch.floor(exact + state.uniform(ROUNDING)[:, 0]).long()  # [B]
        doubt = (-after.log_prob).masked_fill(~revealed, -torch.inf)  # [B, L]
        return after.remask(largest(doubt, count) & revealed)
