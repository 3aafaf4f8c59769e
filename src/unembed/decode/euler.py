"""Euler: uniform steps from t = 1 to t = 0; each reveals its share of positions, tokens sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field
from torch import Tensor

from unembed.decode.base import BaseDecoder, State
from unembed.decode.choose import sampled

WHERE, WHAT = 0, 1  # channels of random numbers: which positions, which tokens


@dataclass(frozen=True)
class Euler(BaseDecoder):
    """From t to s, a masked position is revealed with probability `(t - s) / t`; at s = 0 all are.

    Which positions come is drawn before the model is asked, so that only those cost logits, and a
    sequence for which none comes does not cost a pass.
    """

    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    name: ClassVar[str] = "euler"
    asks_all: ClassVar[bool] = False

    def passes(self, length: int, steps: int | None) -> int:
        return euler_steps(length, steps)

    def wanted(self, state: State) -> Tensor:
        return state.masked & (state.uniform(WHERE) < reveal_share(state))

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = sampled(logits, state.uniform(WHAT)[wanted], self.temperature)  # [M]
        return state.reveal(wanted, token, log_prob)


def euler_steps(length: int, steps: int | None) -> int:
    """At least one; None is one per token. More steps than tokens are fine: most reveal nothing."""
    return length if steps is None else max(1, steps)


def reveal_share(state: State) -> Tensor:
    """`(t - s) / t` for uniform steps; 1 in the last one, so that nothing stays masked.  # [B, 1]"""
    return 1.0 / state.steps_left[:, None]
