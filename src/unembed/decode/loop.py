"""The denoising loop: it owns the model, the decoder owns the decisions.

The vector is read once a sequence, the blocks run once a step, logits are computed only where the
decoder wants them, and a finished sequence leaves the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unembed.decode.base import Decoder, State
from unembed.decode.noise import combine
from unembed.model.denoiser import Denoiser, Prepared

NOTHING = -1  # beyond a sequence's length, where sequences of different lengths share a tensor


@dataclass(frozen=True)
class Decoded:
    """What came out, in the order of the vectors."""

    tokens: Tensor  # [B, L] the model's entries; NOTHING beyond a sequence's length
    log_prob: Tensor  # [B, L] of each token when it was revealed; 0 beyond a sequence's length
    lengths: Tensor  # [B]
    forward_passes: Tensor  # [B] evaluations of the blocks that this sequence took part in
    trace: tuple[tuple[Tensor, ...], ...] | None  # a sequence: its tokens [L] before and after every step

    @property
    def score(self) -> Tensor:
        """The sum of the tokens' log-probabilities as they were revealed.  # [B]"""
        return self.log_prob.sum(dim=1)


@torch.no_grad()
def decode(
    denoiser: Denoiser,
    vectors: Tensor,
    lengths: Tensor,
    decoder: Decoder,
    *,
    steps: int | None = None,
    generator: torch.Generator | None = None,
    seeds: Tensor | None = None,
    trace: bool = False,
    banned: Sequence[int] = (),
    guidance: float = 0.0,
) -> Decoded:
    """Texts of equal length out of vectors [B, D], from all positions masked.

    `seeds` [B] are what each sequence's random numbers are made of; without them they are drawn from
    `generator`. `banned` entries are never produced. `guidance` above 0 extrapolates away from what the
    model would say without the vector, at twice the passes.
    """
    batch, mask_id = len(vectors), denoiser.config.mask_id
    if denoiser.config.length == "fixed":
        lengths = torch.full((batch,), denoiser.config.max_length, device=vectors.device)
    length = int(lengths[0]) if batch else 0
    if batch and bool((lengths != length).any()):
        raise ValueError("one batch holds sequences of one length; decode_all sorts them")
    if seeds is None:
        seeds = torch.randint(2**62, (batch,), generator=generator).to(vectors.device)
    width = decoder.width
    rows = torch.arange(batch, device=vectors.device).repeat_interleave(width)  # [B * width]
    shape = (batch * width, length)
    state = State(
        tokens=torch.full(shape, mask_id, dtype=torch.long, device=vectors.device),
        log_prob=torch.zeros(shape, device=vectors.device),
        seeds=_hypothesis_seeds(seeds, width),
        mask_id=mask_id,
        steps=decoder.passes(length, steps) // width,
    )
    model = _Guided(denoiser, vectors, lengths, banned, guidance).select(rows)
    whole, passes = state, torch.zeros(batch, dtype=torch.long, device=vectors.device)
    frames = [whole.tokens]
    active = rows.new_tensor(range(len(rows)))  # which rows of `whole` are still in the batch
    while len(active) and state.step < state.steps:
        wanted = decoder.wanted(state)  # [B, L]
        logits = model.logits(state.tokens, decoder.time(state), wanted)  # [M, V]
        state = replace(decoder.step(logits, wanted, state), step=state.step + 1)
        passes.index_add_(0, rows[active], torch.full_like(active, model.cost))
        whole = replace(
            whole,
            tokens=whole.tokens.index_copy(0, active, state.tokens),
            log_prob=whole.log_prob.index_copy(0, active, state.log_prob),
        )
        if trace:
            frames.append(whole.tokens)
        # Hypotheses of one sequence stay together: they may be compared with each other.
        going = ~state.finished.view(-1, width).all(dim=1).repeat_interleave(width)  # [B]
        if not bool(going.all()):
            keep = going.nonzero().squeeze(1)
            state, model, active = state.select(keep), model.select(keep), active[keep]
    if bool(whole.masked.any()):
        raise RuntimeError(f"the decoder '{decoder.name}' left masks behind")
    best = whole.log_prob.sum(dim=1).view(batch, width).argmax(dim=1) if batch else rows  # [B]
    best = best + torch.arange(batch, device=vectors.device) * width
    return Decoded(
        whole.tokens[best],
        whole.log_prob[best],
        lengths,
        passes,
        _story(torch.stack(frames, dim=1)[best]) if trace else None,
    )


@torch.no_grad()
def decode_all(
    denoiser: Denoiser,
    vectors: Tensor,
    lengths: Tensor,
    decoder: Decoder,
    *,
    batch: int = 64,
    steps: int | None = None,
    seeds: Tensor | None = None,
    generator: torch.Generator | None = None,
    trace: bool = False,
    banned: Sequence[int] = (),
    guidance: float = 0.0,
) -> Decoded:
    """The same for texts of any lengths: sorted into batches of one length, returned in their order."""
    count = len(vectors)
    if denoiser.config.length == "fixed":
        lengths = torch.full((count,), denoiser.config.max_length, device=vectors.device)
    if seeds is None:
        seeds = torch.randint(2**62, (count,), generator=generator).to(vectors.device)
    size = int(lengths.max()) if count else 0
    tokens = torch.full((count, size), NOTHING, dtype=torch.long, device=vectors.device)
    log_prob = torch.zeros(count, size, device=vectors.device)
    passes = torch.zeros(count, dtype=torch.long, device=vectors.device)
    traces: dict[int, tuple[Tensor, ...]] = {}
    for length in sorted(set(lengths.tolist())):
        bucket = (lengths == length).nonzero().squeeze(1)
        for rows in bucket.split(batch):
            part = decode(
                denoiser,
                vectors[rows],
                lengths[rows],
                decoder,
                steps=steps,
                seeds=seeds[rows],
                trace=trace,
                banned=banned,
                guidance=guidance,
            )
            tokens[rows, :length] = part.tokens
            log_prob[rows, :length] = part.log_prob
            passes[rows] = part.forward_passes
            if part.trace is not None:
                traces.update(zip(rows.tolist(), part.trace, strict=True))
    story = tuple(traces[row] for row in range(count)) if trace else None
    return Decoded(tokens, log_prob, lengths, passes, story)


class _Guided:
    """The model on one batch, with its bans and its guidance: states in, logits at wanted places out."""

    def __init__(
        self,
        denoiser: Denoiser,
        vectors: Tensor,
        lengths: Tensor,
        banned: Sequence[int],
        guidance: float,
    ) -> None:
        self.denoiser = denoiser
        self.banned = torch.tensor(list(banned), dtype=torch.long, device=vectors.device)
        self.guidance = guidance
        self.prepared = denoiser.prepare(vectors, lengths)
        self.free: Prepared | None = None  # the same without the vectors
        if guidance:
            dropped = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
            self.free = denoiser.prepare(vectors, lengths, dropped=dropped)

    @property
    def cost(self) -> int:
        """Forward passes a step."""
        return 1 if self.free is None else 2

    def select(self, rows: Tensor) -> _Guided:
        out = object.__new__(_Guided)
        out.denoiser, out.banned, out.guidance = self.denoiser, self.banned, self.guidance
        out.prepared = self.prepared.select(rows)
        out.free = None if self.free is None else self.free.select(rows)
        return out

    def logits(self, tokens: Tensor, t: Tensor, wanted: Tensor) -> Tensor:
        """Logits at the M wanted places.  # [M, V]"""
        places = wanted.nonzero()  # [M, 2]
        logits = self._logits(tokens, t, places, self.prepared)
        if self.free is not None:
            free = self._logits(tokens, t, places, self.free)
            logits = logits + self.guidance * (logits - free)
        if len(self.banned):
            logits.index_fill_(1, self.banned, -torch.inf)
        return logits

    def _logits(self, tokens: Tensor, t: Tensor, places: Tensor, prepared: Prepared) -> Tensor:
        h = self.denoiser.hidden(tokens, t, prepared)  # [B, L, D]
        row, column = places.unbind(dim=1)
        return self.denoiser.logits(h[row, column], row, prepared, xt=tokens).float()  # [M, V]


def _hypothesis_seeds(seeds: Tensor, width: int) -> Tensor:
    """Hypotheses of one sequence draw different numbers.  # [B * width]"""
    if width == 1:
        return seeds
    number = torch.arange(width, device=seeds.device)  # [width]
    return combine(seeds[:, None], number).flatten()


def _story(frames: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """Each sequence's own steps: what it was before and after each, without waiting for others.

    frames: [B, T, L]
    """
    out = []
    for sequence in frames:
        last = int((sequence != sequence[-1]).any(dim=1).nonzero().max()) + 1 if len(sequence) > 1 else 0
        out.append(tuple(sequence[: last + 1]))
    return tuple(out)
