"""Two-stage: a sequential hypothesis first, then Euler steps that start from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest
from unembed.decode.choose import likeliest, sampled
from unembed.decode.euler import WHAT, WHERE, reveal_share
from unembed.decode.sequential import first_masked

SECOND_STEPS = 8


@dataclass(frozen=True)
class TwoStage(BaseDecoder):
    """One pass per token for the hypothesis; then its least likely share `restart` again, in `steps` passes.

    Sampling would only add noise to a hypothesis that is mostly right, so the second stage takes the
    likeliest token unless it is given a temperature.
    """

    restart: Annotated[float, Field(ge=0, le=1)] = 0.5
    temperature: Annotated[float, Field(ge=0, le=100)] = 0.0
    name: ClassVar[str] = "two-stage"
    asks_all: ClassVar[bool] = False

    def passes(self, length: int, steps: int | None) -> int:
        return length + max(1, SECOND_STEPS if steps is None else steps)

    def wanted(self, state: State) -> Tensor:
        second = state.masked & (state.uniform(WHERE) < reveal_share(state))  # [B, L]
        return torch.where(_in_first_stage(state)[:, None], first_masked(state), second)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = sampled(logits, state.uniform(WHAT)[wanted], self.temperature)  # [M]
        best, best_log_prob = likeliest(logits)  # [M]
        first = _in_first_stage(state)[wanted.nonzero()[:, 0]]  # [M]
        after = state.reveal(
            wanted, torch.where(first, best, token), torch.where(first, best_log_prob, log_prob)
        )
        # The hypothesis is whole: its doubtful part starts again.
        count = torch.round(self.restart * state.lengths).long()  # [B]
        doubt = (-after.log_prob).masked_fill(~after.revealed, -torch.inf)  # [B, L]
        return after.remask(largest(doubt, count * (state.lengths == state.step + 1)))


def _in_first_stage(state: State) -> Tensor:
    """Whether each sequence is still at its hypothesis.  # [B]"""
    return state.step < state.lengths
