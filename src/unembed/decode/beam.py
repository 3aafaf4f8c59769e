"""Beam: several hypotheses side by side, the likeliest survive, the surest positions first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest, share_now, spread


@dataclass(frozen=True)
class Beam(BaseDecoder):
    """Each hypothesis reveals its surest positions and branches at the least sure of those.

    Of the `width * branches` that this makes, the `width` of highest log-probability survive. `steps` is
    the budget of passes for all hypotheses together, so that strategies compare at equal cost.
    """

    width: Annotated[int, Field(ge=1, le=256)] = 4
    branches: Annotated[int, Field(ge=1, le=256)] = 4
    name: ClassVar[str] = "beam"
    asks_all: ClassVar[bool] = False

    def passes(self, length: int, steps: int | None) -> int:
        rounds = length if steps is None else max(1, min(length, steps // self.width))
        return rounds * self.width

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        log_p, token = _best(logits, min(self.branches, logits.shape[1]))  # [M, K]
        sure = spread(log_p[:, 0], wanted, -torch.inf)  # [B, L]
        now = largest(sure, share_now(wanted.sum(dim=1), state)) & wanted  # [B, L]
        chosen = now[wanted]  # [M]
        after = state.reveal(now, token[chosen, 0], log_p[chosen, 0])
        fork = sure.masked_fill(~now, torch.inf).argmin(dim=1)  # [B] the least sure that is revealed
        forks = torch.zeros_like(now).scatter_(1, fork[:, None], True)[wanted]  # [M] one per row
        return self._keep(after, fork, token[forks], log_p[forks])

    def _keep(self, after: State, fork: Tensor, token: Tensor, log_p: Tensor) -> State:
        """The best of all branches. fork: [B] a position; token, log_p: [B, K] what may stand there."""
        rows, branches = token.shape
        total = after.log_prob.sum(dim=1)[:, None] - log_p[:, :1] + log_p  # [B, K]
        groups = total.view(-1, self.width, branches)  # [G, W, K]
        if after.step == 0:
            groups[:, 1:] = -torch.inf  # all hypotheses are still the same one
        groups = groups.flatten(1)  # [G, W * K]
        parent = torch.arange(rows, device=token.device).repeat_interleave(branches)  # [B * K]
        grown = after.tokens[parent].scatter(1, fork[parent][:, None], token.view(-1, 1))  # [B * K, L]
        groups = groups.masked_fill(_repeated(grown.view(len(groups), -1, grown.shape[1])), -torch.inf)
        best = groups.topk(self.width, dim=1).indices  # [G, W]
        flat = (best + torch.arange(len(groups), device=token.device)[:, None] * groups.shape[1]).flatten()
        out = after.select(parent[flat])
        where = torch.zeros_like(out.masked).scatter_(1, fork[parent[flat]][:, None], True)  # [B, L]
        return out.reveal(where, token.flatten()[flat], log_p.flatten()[flat])


def _best(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The likeliest tokens' log-probabilities and the tokens.  # 2 x [M, K]"""
    top, token = logits.topk(count, dim=1)
    return top - logits.logsumexp(dim=1, keepdim=True), token


def _repeated(hypotheses: Tensor) -> Tensor:
    """Hypotheses that equal an earlier one of their group, reached by another order.

    hypotheses: [G, N, L]  # [G, N]
    """
    same = (hypotheses[:, :, None] == hypotheses[:, None]).all(dim=3)  # [G, N, N]
    return same.tril(diagonal=-1).any(dim=2)
