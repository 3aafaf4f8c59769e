"""Several hypotheses from a strategy that makes one, for callers who want more than one text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unembed.decode.base import Decoder, State


@dataclass(frozen=True)
class Alternatives:
    """`count` hypotheses of a strategy that makes one: the first is the strategy's own.

    The others start with the second, third, ... likeliest token at the position that the first pass was
    least sure of, and continue as the strategy does.
    """

    inner: Decoder
    count: int

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def width(self) -> int:
        return self.count

    @property
    def asks_all(self) -> bool:
        return self.inner.asks_all

    def passes(self, length: int, steps: int | None) -> int:
        return self.count * self.inner.passes(length, steps)

    def time(self, state: State) -> Tensor:
        return self.inner.time(state)

    def wanted(self, state: State) -> Tensor:
        return self.inner.wanted(state)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        after = self.inner.step(logits, wanted, state)
        return self._fork(logits, wanted, state, after) if state.step == 0 else after

    def _fork(self, logits: Tensor, wanted: Tensor, state: State, after: State) -> State:
        fresh = state.masked & ~after.masked & wanted  # [B, L]
        sure = after.log_prob.masked_fill(~fresh, torch.inf)  # [B, L]
        fork = torch.zeros_like(fresh).scatter_(1, sure.argmin(dim=1, keepdim=True), True) & fresh  # [B, L]
        here = logits[fork[wanted]]  # [R, V], one for each row that revealed something
        number = (torch.arange(len(fork), device=fork.device) % self.count)[fork.any(dim=1)]  # [R]
        top, token = here.topk(min(self.count, here.shape[1]), dim=1)  # [R, K]
        choice = number.clamp(max=top.shape[1] - 1)[:, None]  # [R, 1]
        log_prob = (top.gather(1, choice) - here.logsumexp(dim=1, keepdim=True)).squeeze(1)  # [R]
        other = fork & (torch.arange(len(fork), device=fork.device) % self.count > 0)[:, None]  # [B, L]
        keep = number > 0  # the first is the strategy's own, sampled or not
        return after.reveal(other, token.gather(1, choice).squeeze(1)[keep], log_prob[keep])
