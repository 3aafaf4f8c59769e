"""The model on one batch, with its bans and its guidance: tokens in, logits at wanted places out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unembed.model.denoiser import Denoiser, Prepared
from unembed.model.packed import packing


@dataclass(frozen=True)
class Guided:
    """A denoiser that has read its vectors.

    Guidance extrapolates: `logits + guidance * (logits - logits without the vector)` (classifier-free
    guidance). It needs a model that was trained with dropped vectors, and twice the passes.
    """

    denoiser: Denoiser
    banned: Tensor  # [K] entries that are never produced
    guidance: float
    prepared: Prepared
    free: Prepared | None  # the same without the vectors

    @classmethod
    def read(
        cls, denoiser: Denoiser, vectors: Tensor, lengths: Tensor, banned: Sequence[int], guidance: float
    ) -> Guided:
        """Everything that depends on the vectors alone, once a sequence."""
        free = None
        if guidance:
            dropped = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
            free = denoiser.prepare(vectors, lengths, dropped=dropped)
        entries = torch.tensor(list(banned), dtype=torch.long, device=vectors.device)
        return cls(denoiser, entries, guidance, denoiser.prepare(vectors, lengths), free)

    @property
    def cost(self) -> int:
        """Forward passes a step."""
        return 1 if self.free is None else 2

    def select(self, rows: Tensor) -> Guided:
        """The same for some of the sequences; repeats are allowed."""
        free = None if self.free is None else self.free.select(rows)
        return replace(self, prepared=self.prepared.select(rows), free=free)

    def logits(self, tokens: Tensor, t: Tensor, wanted: Tensor) -> Tensor:
        """tokens: [B, L]; t: [B]; wanted: [B, L] with M places; row by row.  # [M, V]"""
        asked = wanted.any(dim=1)  # [B] nobody waits for a sequence that wants nothing
        if not bool(asked.all()):
            rows = asked.nonzero().squeeze(1)
            return self.select(rows)._logits(tokens[rows], t[rows], wanted[rows])
        return self._logits(tokens, t, wanted)

    def _logits(self, tokens: Tensor, t: Tensor, wanted: Tensor) -> Tensor:
        if not len(tokens):
            return torch.zeros(0, self.denoiser.config.vocabulary, device=tokens.device)
        logits = self._ask(tokens, t, wanted, self.prepared)
        if self.free is not None:
            logits = logits + self.guidance * (logits - self._ask(tokens, t, wanted, self.free))
        if len(self.banned):
            logits.index_fill_(1, self.banned, -torch.inf)
        return logits

    @packing()
    def _ask(self, tokens: Tensor, t: Tensor, wanted: Tensor, prepared: Prepared) -> Tensor:
        at = wanted.flatten().nonzero().squeeze(1)  # [M]
        h = self.denoiser.hidden(tokens, t.to(prepared.modulation.dtype), prepared, at=at)  # [M, D]
        rows = at // tokens.shape[1]  # [M]
        return self.denoiser.logits(h, rows, prepared, xt=tokens).float()  # [M, V]
