"""Search: several drafts, then leave-some-out refills; the best text by the model's own rescoring wins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest, share_now, spread
from unembed.decode.choose import likeliest, sampled
from unembed.errors import UsageError

WHAT = 1  # channel


@dataclass(frozen=True)
class Search(BaseDecoder):
    """`width` drafts: the first greedy, the others sampled. Then `folds` passes over each draft: every
    pass masks every `folds`-th token, fills the gap with what the rest of the text says, and keeps the
    token's log-probability. Their sum is the draft's pseudo-log-likelihood, by which the best is kept.

    `steps` is the budget of passes for all drafts together; the rest after the folds goes to drafting.
    """

    width: int = 4
    folds: int = 3
    temperature: float = 0.5
    name: str = "search"

    def __post_init__(self) -> None:
        if self.width < 1 or self.folds < 1:
            raise UsageError("A search needs at least one draft and one fold.")

    def passes(self, length: int, steps: int | None) -> int:
        drafting = length if steps is None else max(1, min(length, steps // self.width - self.folds))
        return self.width * (drafting + self.folds)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        fold = state.step - (state.steps - self.folds)  # below 0 while drafting
        after = self._draft(logits, wanted, state) if fold < 0 else self._refill(logits, wanted, state)
        return self._open(after, fold + 1)

    def _draft(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        greedy, greedy_log_prob = likeliest(logits)  # [M]
        other, other_log_prob = sampled(logits, state.uniform(WHAT)[wanted], self.temperature)
        number = torch.arange(len(wanted), device=wanted.device) % self.width  # [B]
        first = (number == 0)[:, None].expand_as(wanted)[wanted]  # [M]
        token = torch.where(first, greedy, other)
        log_prob = torch.where(first, greedy_log_prob, other_log_prob)
        sure = spread(log_prob, wanted, -torch.inf)  # [B, L]
        drafting = replace(state, steps=state.steps - self.folds)
        now = largest(sure, share_now(wanted.sum(dim=1), drafting)) & wanted
        return state.reveal(now, token[now[wanted]], log_prob[now[wanted]])

    def _refill(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        return state.reveal(wanted, *likeliest(logits))

    def _open(self, state: State, fold: int) -> State:
        """Mask what the next fold will look at; nothing while drafting goes on or after the last fold."""
        if not 0 <= fold < self.folds:
            return state
        place = torch.arange(state.tokens.shape[1], device=state.tokens.device)  # [L]
        return state.remask((place % self.folds == fold).expand_as(state.tokens))
