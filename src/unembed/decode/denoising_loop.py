"""The denoising loop: it owns the model, the decoder owns the decisions.

The vector is read once a sequence, the blocks run once a step, logits are computed only where the
decoder wants them, and a finished sequence leaves the batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unembed.decode.base import Decoder, State
from unembed.decode.conditioned import ConditionedDenoiser
from unembed.decode.noise import combine
from unembed.model.denoiser import Denoiser

NOTHING = -1  # beyond a sequence's length, where sequences of different lengths share a tensor


@dataclass(frozen=True)
class Decoded:
    """What came out, in the order of the vectors."""

    tokens: Tensor  # [B, L] the model's entries; NOTHING beyond a sequence's length
    log_prob: Tensor  # [B, L] of each token when it was revealed; 0 beyond a sequence's length
    lengths: Tensor  # [B]
    forward_passes: Tensor  # [B] evaluations of the blocks that this sequence took part in
    trace: tuple[tuple[Tensor, ...], ...] | None  # a sequence: its tokens [L] before and after every step
    others: Tensor  # [B, W - 1, L] the other hypotheses' tokens, in no order; W is the decoder's width
    others_log_prob: Tensor  # [B, W - 1, L]

    @property
    def score(self) -> Tensor:
        """The sum of the tokens' log-probabilities as they were revealed.  # [B]"""
        return self.log_prob.sum(dim=1)


@dataclass(frozen=True)
class Step:
    """What a watcher sees before the first step and after every one: the sequences still in the batch."""

    rows: Tensor  # [R] which of the vectors these are
    tokens: Tensor  # [R, L] of the best hypothesis so far
    log_prob: Tensor  # [R, L]
    number: int  # steps done
    steps: int  # at most


# Returns which of a step's sequences are still wanted [R], or None for all. The others leave the batch:
# they cost nothing more, and nothing comes out for them.
Watcher = Callable[[Step], Tensor | None]


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
    end: int | None = None,
    start: Tensor | None = None,
    watch: Watcher | None = None,
    kv_cache: bool = False,
    shortlist: int = 0,
) -> Decoded:
    """Texts of equal length out of vectors [B, D], from all positions masked.

    `seeds` [B] are what each sequence's random numbers are made of; without them they are drawn from
    `generator`. `banned` entries are never produced. `guidance` above 0 extrapolates away from what the
    model would say without the vector, at twice the passes. Where texts have an `end` token, what
    comes after it does not count when hypotheses are compared. `start` [B, L] gives some of the tokens,
    and the others as masks: at least one a text.

    Two approximations save arithmetic. `kv_cache` computes a token that stands only once, in the pass after
    it was revealed. A `shortlist` above 0 leaves a sequence that many words after its first pass, with
    strategies that ask for all masks in every pass.
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
    rows = torch.arange(batch * width, device=vectors.device)  # [B * width] still in the batch
    sequence = rows // width  # [B * width] whose hypothesis a row is
    if start is None:
        start = torch.full((batch, length), mask_id, dtype=torch.long, device=vectors.device)
    tokens = start.repeat_interleave(width, dim=0)  # [B * width, L]
    state = whole = State(
        tokens=tokens,
        log_prob=torch.zeros(tokens.shape, device=vectors.device),
        seeds=_hypothesis_seeds(seeds, width),
        mask_id=mask_id,
        steps=decoder.passes(length, steps) // width,
    )
    model = ConditionedDenoiser.read(denoiser, vectors, lengths, banned, guidance, kv_cache=kv_cache)
    model = model if width == 1 else model.select(sequence)
    passes = torch.zeros(batch, dtype=torch.long, device=vectors.device)
    frames = [whole.tokens]
    given_up = torch.zeros(batch * width, dtype=torch.bool, device=vectors.device)
    while len(rows):
        if watch is not None:
            wanted_rows = _ask(watch, state, sequence[rows], width, end)  # [B]
            if not bool(wanted_rows.all()):
                given_up[rows[~wanted_rows]] = True
                keep = wanted_rows.nonzero().squeeze(1)
                state, model, rows = state.select(keep), model.select(keep), rows[keep]
        if not len(rows) or state.step >= state.steps:
            break
        wanted = decoder.wanted(state)  # [B, L]
        logits = model.logits(state.tokens, decoder.time(state), wanted)  # [M, V]
        state = decoder.step(
            logits, wanted, replace(state, origin=torch.arange(len(rows), device=rows.device))
        )
        state = replace(state, tokens=model.spell(state.tokens, wanted))
        assert state.origin is not None
        model = model.follow(state.origin)
        if shortlist and model.own is None and decoder.asks_all:
            model = model.shorten(logits, wanted, shortlist)
        passes.index_add_(0, sequence[rows], wanted.any(dim=1).long() * model.cost)
        whole = replace(
            whole,
            tokens=whole.tokens.index_copy(0, rows, state.tokens),
            log_prob=whole.log_prob.index_copy(0, rows, state.log_prob),
        )
        if trace:
            frames = [frame.index_copy(0, rows, frame[rows[state.origin]]) for frame in frames]
            frames.append(whole.tokens)
        # Hypotheses of one sequence stay together: they are compared with each other.
        going = ~state.finished.view(-1, width).all(dim=1).repeat_interleave(width)  # [B]
        state = replace(state, step=state.step + 1)
        if watch is not None and not bool(going.all()):
            done = (~going).nonzero().squeeze(1)
            _ask(watch, state.select(done), sequence[rows[done]], width, end)
        if not bool(going.all()):
            keep = going.nonzero().squeeze(1)
            state, model, rows = state.select(keep), model.select(keep), rows[keep]
    whole = replace(whole, tokens=whole.tokens.masked_fill(given_up[:, None], NOTHING))
    if bool(whole.masked.any()):
        raise RuntimeError(f"the decoder '{decoder.name}' left masks behind")
    best = _best_rows(whole, width, end)  # [B]
    rest = torch.ones(len(whole.tokens), dtype=torch.bool, device=vectors.device).index_fill_(0, best, False)
    return Decoded(
        tokens=whole.tokens[best],
        log_prob=whole.log_prob[best],
        lengths=lengths,
        forward_passes=passes,
        trace=_story(torch.stack(frames, dim=1)[best]) if trace else None,
        others=whole.tokens[rest].view(batch, width - 1, length),
        others_log_prob=whole.log_prob[rest].view(batch, width - 1, length),
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
    end: int | None = None,
    watch: Watcher | None = None,
    kv_cache: bool = False,
    shortlist: int = 0,
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
    others = tokens[:, None].repeat(1, decoder.width - 1, 1)
    others_log_prob = log_prob[:, None].repeat(1, decoder.width - 1, 1)
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
                end=end,
                watch=None if watch is None else _renumber(watch, rows),
                kv_cache=kv_cache,
                shortlist=shortlist,
            )
            tokens[rows, :length] = part.tokens
            log_prob[rows, :length] = part.log_prob
            others[rows, :, :length] = part.others
            others_log_prob[rows, :, :length] = part.others_log_prob
            passes[rows] = part.forward_passes
            if part.trace is not None:
                traces.update(zip(rows.tolist(), part.trace, strict=True))
    story = tuple(traces[row] for row in range(count)) if trace else None
    return Decoded(tokens, log_prob, lengths, passes, story, others, others_log_prob)


def _ask(watch: Watcher, state: State, sequence: Tensor, width: int, end: int | None) -> Tensor:
    """Show a step to the watcher, one row a sequence; its answer, one a hypothesis.  # [B * width]"""
    best = _best_rows(state, width, end)  # [B]
    step = Step(sequence[best], state.tokens[best], state.log_prob[best], state.step, state.steps)
    answer = watch(step)
    if answer is None:
        return torch.ones_like(sequence, dtype=torch.bool)
    return answer.to(sequence.device).repeat_interleave(width)


def _renumber(watch: Watcher, rows: Tensor) -> Watcher:
    """The same watcher for a part of the vectors: it is told their numbers among all of them."""
    return lambda step: watch(replace(step, rows=rows[step.rows]))


def _hypothesis_seeds(seeds: Tensor, width: int) -> Tensor:
    """Hypotheses of one sequence draw different numbers.  # [B * width]"""
    if width == 1:
        return seeds
    number = torch.arange(width, device=seeds.device)  # [width]
    return combine(seeds[:, None], number).flatten()


def _best_rows(state: State, width: int, end: int | None) -> Tensor:
    """The row of each sequence's likeliest hypothesis.  # [B]"""
    log_prob = state.log_prob  # [B * width, L]
    if end is not None:
        closed = (state.tokens == end).long()
        log_prob = log_prob.masked_fill(closed.cumsum(dim=1) - closed > 0, 0.0)
    score = log_prob.sum(dim=1).view(-1, width)  # [B, width]
    return score.argmax(dim=1) + torch.arange(len(score), device=score.device) * width


def _story(frames: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """Each sequence's own steps, before and after each, without those it sat out. frames: [B, T, L]"""
    out = []
    for sequence in frames:
        moved = [new for old, new in itertools.pairwise(sequence) if not torch.equal(old, new)]
        out.append((sequence[0], *moved))
    return tuple(out)
