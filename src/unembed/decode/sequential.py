"""Sequential: left to right, one token per pass. Coherent, and not parallel at all.

Before token i of n is revealed, `t = (n - i) / n`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from unembed.decode.base import BaseDecoder, State
from unembed.decode.choose import likeliest


@dataclass(frozen=True)
class Sequential(BaseDecoder):
    """The likeliest token at the first masked position: one pass per token, whatever `steps` says."""

    name: ClassVar[str] = "sequential"
    asks_all: ClassVar[bool] = False

    def passes(self, length: int, steps: int | None) -> int:
        return length

    def wanted(self, state: State) -> Tensor:
        return first_masked(state)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = likeliest(logits)  # [M]
        return state.reveal(wanted, token, log_prob)


def first_masked(state: State) -> Tensor:
    """The leftmost mask of each sequence.  # [B, L]"""
    masked = state.masked
    return masked & (masked.cumsum(dim=1) == 1)
