"""Two-stage: a sequential hypothesis first, then Euler steps that start from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest
from unembed.decode.choose import likeliest, sampled
from unembed.decode.euler import WHAT, WHERE
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
        if state.step < state.tokens.shape[1]:
            return first_masked(state)
        return state.masked & (state.uniform(WHERE) < 1.0 / max(1, state.steps - state.step))

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        length = state.tokens.shape[1]
        if state.step >= length:
            token, log_prob = sampled(logits, state.uniform(WHAT)[wanted], self.temperature)  # [M]
            return state.reveal(wanted, token, log_prob)
        token, log_prob = likeliest(logits)  # [M]
        after = state.reveal(wanted, token, log_prob)
        if state.step + 1 < length:
            return after
        count = torch.full_like(after.seeds, round(self.restart * length))  # [B]
        return after.remask(largest(-after.log_prob, count))
