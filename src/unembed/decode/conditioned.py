"""The model on one batch, with its bans and its guidance: tokens in, logits at wanted positions out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unembed.compute.precision import computing, current_precision
from unembed.model.denoiser import Denoiser, Prepared
from unembed.model.fast.kv_cache import KVCache, hidden_with_kv_cache
from unembed.model.fast.word_shortlist import WordShortlist, likely_words


@dataclass(frozen=True)
class Reading:
    """What the model made of a batch's vectors and, where passes build on each other, of its tokens."""

    prepared: Prepared
    kv_cache: KVCache | None

    def select(self, rows: Tensor) -> Reading:
        """The same for some of the sequences; repeats are allowed."""
        cache = None if self.kv_cache is None else self.kv_cache.select(rows)
        return Reading(self.prepared.select(rows), cache)


@dataclass(frozen=True)
class ConditionedDenoiser:
    """A denoiser that has read its vectors.

    Guidance extrapolates: `logits + guidance * (logits - logits without the vector)` (classifier-free
    guidance). It needs a model that was trained with dropped vectors, and twice the passes.
    """

    denoiser: Denoiser
    banned: Tensor  # [K] entries that are never produced
    guidance: float
    reading: Reading
    free: Reading | None  # the same without the vectors
    padding: Tensor | None = None  # [B, L] true beyond a sequence's length, where lengths differ
    own: WordShortlist | None = None  # the words that each sequence is left with, if not all

    @classmethod
    def read(
        cls,
        denoiser: Denoiser,
        vectors: Tensor,
        lengths: Tensor,
        banned: Sequence[int],
        guidance: float,
        *,
        kv_cache: bool = False,
    ) -> ConditionedDenoiser:
        """Everything that depends on the vectors alone, once per sequence.

        With `kv_cache`, later passes reuse the keys and values of tokens that earlier passes revealed.
        """
        length = int(lengths.max()) if len(lengths) else 0

        def reading(prepared: Prepared) -> Reading:
            return Reading(prepared, KVCache.empty(prepared, length) if kv_cache and length else None)

        free = None
        if guidance:
            dropped = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
            free = reading(denoiser.prepare(vectors, lengths, dropped=dropped))
        entries = torch.tensor(list(banned), dtype=torch.long, device=vectors.device)
        read = reading(denoiser.prepare(vectors, lengths))
        return cls(denoiser, entries, guidance, read, free, padding_beyond(lengths, length))

    @property
    def cost(self) -> int:
        """Forward passes per step."""
        return 1 if self.free is None else 2

    def select(self, rows: Tensor) -> ConditionedDenoiser:
        """The same for some of the sequences; repeats are allowed."""
        return replace(
            self,
            reading=self.reading.select(rows),
            free=None if self.free is None else self.free.select(rows),
            padding=None if self.padding is None else self.padding[rows],
            own=None if self.own is None else self.own.select(rows),
        )

    def follow(self, origin: Tensor) -> ConditionedDenoiser:
        """The same after hypotheses have changed their rows: the KV cache moves along."""
        if self.reading.kv_cache is None or torch.equal(
            origin, torch.arange(len(origin), device=origin.device)
        ):
            return self
        return self.select(origin)

    def shorten(self, logits: Tensor, wanted: Tensor, size: int) -> ConditionedDenoiser:
        """The same, left with each sequence's likeliest words by these logits at all its masks.

        logits: [M, V]; wanted: [B, L] with M positions, some in every sequence
        """
        size = min(size, logits.shape[1] - len(self.banned))
        entries = likely_words(logits, wanted.nonzero()[:, 0], len(wanted), size)  # [B, S]
        return replace(self, own=WordShortlist.gather(self.denoiser, entries))

    def spell(self, tokens: Tensor, wanted: Tensor) -> Tensor:
        """Entries for what a step wrote at wanted positions, where it chose among each sequence's own words.

        tokens, wanted: [B, L]; a position that is masked (again) stays so.  # [B, L]
        """
        if self.own is None:
            return tokens
        entries = self.own.entries  # [B, S]
        written = wanted & (tokens != self.denoiser.config.mask_id)
        return torch.where(written, entries.gather(1, tokens.clamp(max=entries.shape[1] - 1)), tokens)

    def logits(self, tokens: Tensor, t: Tensor, wanted: Tensor) -> Tensor:
        """tokens: [B, L]; t: [B]; wanted: [B, L] with M positions; row by row.  # [M, V or S]"""
        asked = wanted.any(dim=1)  # [B] nobody waits for a sequence that wants nothing
        if self.reading.kv_cache is None and not bool(asked.all()):
            rows = asked.nonzero().squeeze(1)
            return self.select(rows)._logits(tokens[rows], t[rows], wanted[rows])
        return self._logits(tokens, t, wanted)

    def _logits(self, tokens: Tensor, t: Tensor, wanted: Tensor) -> Tensor:
        if not bool(wanted.any()):
            return torch.zeros(0, self.denoiser.config.vocabulary, device=tokens.device)
        logits = self._ask(tokens, t, wanted, self.reading)
        if self.free is not None:
            logits = logits + self.guidance * (logits - self._ask(tokens, t, wanted, self.free))
        if len(self.banned) and self.own is None:  # nobody's own words are banned ones
            logits.index_fill_(1, self.banned, -torch.inf)
        return logits

    def _ask(self, tokens: Tensor, t: Tensor, wanted: Tensor, reading: Reading) -> Tensor:
        # Decoding asks the same matrices again and again: packed weights pay even where nobody asked.
        with computing(current_precision() or "fp32"):
            return self._evaluate(tokens, t, wanted, reading)

    def _evaluate(self, tokens: Tensor, t: Tensor, wanted: Tensor, reading: Reading) -> Tensor:
        at = wanted.flatten().nonzero().squeeze(1)  # [M]
        prepared, t = reading.prepared, t.to(reading.prepared.modulation.dtype)
        if reading.kv_cache is None:
            h = self.denoiser.hidden(tokens, t, prepared, self.padding, at=at)  # [M, D]
        else:
            cache = reading.kv_cache
            h = hidden_with_kv_cache(self.denoiser, tokens, t, prepared, cache, self.padding, at=at)
        rows = at // tokens.shape[1]  # [M]
        if self.own is not None:
            return self.own.logits(self.denoiser, h, rows, prepared, tokens, self.padding).float()  # [M, S]
        return self.denoiser.logits(h, rows, prepared, xt=tokens, padding=self.padding).float()  # [M, V]


def padding_beyond(lengths: Tensor, size: int) -> Tensor | None:
    """True beyond each sequence's length; None where all have the size.  # [B, size]"""
    if bool((lengths == size).all()):
        return None
    return torch.arange(size, device=lengths.device) >= lengths[:, None]
