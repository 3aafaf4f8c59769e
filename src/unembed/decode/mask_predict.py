"""Mask-predict (Ghazvininejad et al., 2019): all tokens at once, then the doubtful ones again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest
from unembed.decode.choose import likeliest

DEFAULT_STEPS = 10  # the article's


@dataclass(frozen=True)
class MaskPredict(BaseDecoder):
    """Every step fills all masks, then masks the least likely tokens; their number falls to zero linearly."""

    name: ClassVar[str] = "mask-predict"

    def passes(self, length: int, steps: int | None) -> int:
        return max(1, DEFAULT_STEPS if steps is None else steps)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = likeliest(logits)  # [M]
        after = state.reveal(wanted, token, log_prob)
        again = state.lengths * (state.steps_left - 1) // state.steps  # [B]
        doubt = (-after.log_prob).masked_fill(~after.revealed, -torch.inf)  # [B, L]
        return after.remask(largest(doubt, again))
