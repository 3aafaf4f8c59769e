"""The denoising loop: it owns the model, the decoder owns the decisions.

The vector is read once per sequence, the blocks run once per step, logits are computed only where the
decoder wants them, and a finished sequence leaves the batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from unembed.decode.base import PADDING, Decoder, State
from unembed.decode.conditioned import ConditionedDenoiser
from unembed.decode.noise import combine
from unembed.invert_config import InversionOptions
from unembed.model.denoiser import Denoiser

DEFAULTS = InversionOptions()
NOTHING = -1  # beyond a sequence's length, where sequences of different lengths share a tensor
FILLED = 256  # tokens of a pass from which on more of them cost more
MOST_PADDING = 0.1  # of the tokens of such a pass


@dataclass(frozen=True)
class Decoded:
    """What came out, in the order of the vectors."""

    tokens: Tensor  # [B, L] the model's entries; NOTHING beyond a sequence's length
    log_prob: Tensor  # [B, L] of each token when it was revealed; 0 beyond a sequence's length
    lengths: Tensor  # [B]
    forward_passes: Tensor  # [B] evaluations of the blocks that this sequence took part in
    trace: tuple[tuple[Tensor, ...], ...] | None  # per sequence: its tokens [L] before and after every step
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
    lengths: Tensor  # [R]
    number: int  # steps done
    steps: Tensor  # [R] at most


# Returns which of a step's sequences are still wanted [R], or None for all. The others leave the batch:
# they cost nothing more, and nothing comes out for them.
Watcher = Callable[[Step], Tensor | None]


@torch.no_grad()
def decode(
    denoiser: Denoiser,
    vectors: Tensor,
    lengths: Tensor,
    decoder: Decoder,
    options: InversionOptions = DEFAULTS,
    *,
    generator: torch.Generator | None = None,
    seeds: Tensor | None = None,
    trace: bool = False,
    banned: Sequence[int] = (),
    end: int | None = None,
    start: Tensor | None = None,
    watch: Watcher | None = None,
) -> Decoded:
    """Texts of these lengths [B] out of vectors [B, D], from all positions masked.

    Shorter sequences are padded: attention does not see what is beyond their length.

    `seeds` [B] are what each sequence's random numbers are made of; without them they are drawn from
    `generator`. `banned` entries are never produced. Where texts have an `end` token, what comes after it
    does not count when hypotheses are compared. `start` [B, L] gives some of the tokens, which stay, and the
    others as masks: at least one per text.

    Of the options, `steps`, `guidance`, `kv_cache` and `shortlist` count here.
    """
    batch = len(vectors)
    if denoiser.config.length == "fixed":
        lengths = torch.full((batch,), denoiser.config.max_length, device=vectors.device)
    if seeds is None:
        seeds = torch.randint(2**62, (batch,), generator=generator).to(vectors.device)
    model = ConditionedDenoiser.read(
        denoiser, vectors, lengths, banned, options.guidance, kv_cache=options.kv_cache
    )
    given = None if start is None else start != denoiser.config.mask_id  # [B, L]
    if start is None:
        shape = (batch, int(lengths.max()) if batch else 0)
        start = torch.full(shape, denoiser.config.mask_id, dtype=torch.long, device=vectors.device)
        if model.padding is not None:
            start.masked_fill_(model.padding, PADDING)
    loop = _Loop(model, decoder, start, given, lengths, seeds, options, end=end, trace=trace, watch=watch)
    while loop.wants_another_step():
        loop.step()
    return loop.result()


class _Loop:
    """A batch of sequences on its way from masks to texts. Finished sequences leave it."""

    def __init__(
        self,
        model: ConditionedDenoiser,
        decoder: Decoder,
        start: Tensor,
        given: Tensor | None,
        lengths: Tensor,
        seeds: Tensor,
        options: InversionOptions,
        *,
        end: int | None,
        trace: bool,
        watch: Watcher | None,
    ) -> None:
        batch = len(start)
        self.decoder, self.width, self.options = decoder, decoder.width, options
        self.end, self.trace, self.watch = end, trace, watch
        self.rows = torch.arange(batch * self.width, device=start.device)  # [R] still in the batch
        self.sequence = self.rows // self.width  # [B * width] whose hypothesis a row is
        tokens = start.repeat_interleave(self.width, dim=0)  # [B * width, L]
        steps = [decoder.passes(length, options.steps) // self.width for length in lengths.tolist()]
        # `state` holds the rows that are still in the batch, `whole` all of them.
        self.state = self.whole = State(
            tokens=tokens,
            log_prob=torch.zeros(tokens.shape, device=start.device),
            lengths=lengths.repeat_interleave(self.width),
            seeds=_hypothesis_seeds(seeds, self.width),
            mask_id=model.denoiser.config.mask_id,
            steps=torch.tensor(steps, device=start.device).repeat_interleave(self.width),
            given=None if given is None else given.repeat_interleave(self.width, dim=0),
        )
        self.model = model if self.width == 1 else model.select(self.sequence)
        self.passes = torch.zeros(batch, dtype=torch.long, device=start.device)
        self.frames = [tokens]
        self.given_up = torch.zeros(batch * self.width, dtype=torch.bool, device=start.device)

    def wants_another_step(self) -> bool:
        """Let the watcher give sequences up; then whether any is left that is not finished."""
        if self.watch is not None and len(self.rows):
            wanted = _ask(self.watch, self.state, self.sequence[self.rows], self.width, self.end)  # [R]
            self.given_up[self.rows[~wanted]] = True
            self._keep(wanted)
        return len(self.rows) > 0 and self.state.step < int(self.state.steps.max())

    def step(self) -> None:
        """One denoising step: logits where the decoder wants them, its decision, and who leaves."""
        decoder, state, rows = self.decoder, self.state, self.rows
        wanted = decoder.wanted(state)  # [R, L]
        logits = self.model.logits(state.tokens, decoder.time(state), wanted)  # [M, V]
        origin = torch.arange(len(rows), device=rows.device)
        state = decoder.step(logits, wanted, replace(state, origin=origin))
        state = replace(state, tokens=self.model.spell(state.tokens, wanted))
        assert state.origin is not None
        self.model = self.model.follow(state.origin)
        if self.options.shortlist and self.model.own is None and decoder.asks_all:
            self.model = self.model.shorten(logits, wanted, self.options.shortlist)
        self.passes.index_add_(0, self.sequence[rows], wanted.any(dim=1).long() * self.model.cost)
        self.whole = replace(
            self.whole,
            tokens=self.whole.tokens.index_copy(0, rows, state.tokens),
            log_prob=self.whole.log_prob.index_copy(0, rows, state.log_prob),
        )
        if self.trace:
            self.frames = [frame.index_copy(0, rows, frame[rows[state.origin]]) for frame in self.frames]
            self.frames.append(self.whole.tokens)
        self.state = replace(state, step=state.step + 1)
        self._leave()

    def _leave(self) -> None:
        """Finished sequences leave the batch, after the watcher has seen them."""
        # Hypotheses of one sequence stay together: they are compared with each other.
        going = ~self.state.finished.view(-1, self.width).all(dim=1).repeat_interleave(self.width)  # [R]
        if self.watch is not None and not bool(going.all()):
            done = (~going).nonzero().squeeze(1)
            rows = self.sequence[self.rows[done]]
            _ask(self.watch, self.state.select(done), rows, self.width, self.end)
        self._keep(going)

    def _keep(self, wanted: Tensor) -> None:
        """Only these rows [R] stay in the batch."""
        if not bool(wanted.all()):
            keep = wanted.nonzero().squeeze(1)
            self.state, self.model = self.state.select(keep), self.model.select(keep)
            self.rows = self.rows[keep]

    def result(self) -> Decoded:
        """What came out, in the order of the vectors."""
        gone = self.given_up[:, None]  # [B * width, 1]
        if bool((self.whole.masked & ~gone).any()):
            raise RuntimeError(f"the decoder '{self.decoder.name}' left masks behind")
        whole = replace(
            self.whole, tokens=self.whole.tokens.masked_fill(gone | ~self.whole.revealed, NOTHING)
        )
        best = _best_rows(whole, self.width, self.end)  # [B]
        lengths = whole.lengths[best]  # [B]
        rest = torch.ones(len(whole.tokens), dtype=torch.bool, device=best.device)
        rest = rest.index_fill_(0, best, False)
        shape = (len(best), self.width - 1, whole.tokens.shape[1])
        return Decoded(
            tokens=whole.tokens[best],
            log_prob=whole.log_prob[best],
            lengths=lengths,
            forward_passes=self.passes,
            trace=_traces(torch.stack(self.frames, dim=1)[best], lengths) if self.trace else None,
            others=whole.tokens[rest].view(shape),
            others_log_prob=whole.log_prob[rest].view(shape),
        )


@torch.no_grad()
def decode_all(
    denoiser: Denoiser,
    vectors: Tensor,
    lengths: Tensor,
    decoder: Decoder,
    options: InversionOptions = DEFAULTS,
    *,
    batch: int = 64,
    seeds: Tensor | None = None,
    generator: torch.Generator | None = None,
    trace: bool = False,
    banned: Sequence[int] = (),
    end: int | None = None,
    start: Tensor | None = None,
    watch: Watcher | None = None,
) -> Decoded:
    """The same for any number of texts: sorted into batches of like lengths, returned in their order."""
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
    for rows in like_lengths(lengths, batch):
        length = int(lengths[rows].max())
        part = decode(
            denoiser,
            vectors[rows],
            lengths[rows],
            decoder,
            options,
            seeds=seeds[rows],
            trace=trace,
            banned=banned,
            end=end,
            start=None if start is None else start[rows, :length],
            watch=None if watch is None else _renumber(watch, rows),
        )
        tokens[rows, :length] = part.tokens
        log_prob[rows, :length] = part.log_prob
        others[rows, :, :length] = part.others
        others_log_prob[rows, :, :length] = part.others_log_prob
        passes[rows] = part.forward_passes
        if part.trace is not None:
            traces.update(zip(rows.tolist(), part.trace, strict=True))
    in_order = tuple(traces[row] for row in range(count)) if trace else None
    return Decoded(tokens, log_prob, lengths, passes, in_order, others, others_log_prob)


def like_lengths(lengths: Tensor, batch: int) -> Iterator[Tensor]:
    """Rows of like lengths, at most `batch` at a time, the shortest first.  # [R] each

    A pass over few tokens costs much the same whatever their number, so a small batch takes in longer texts;
    one that is large enough ends where padding would be more than a small part of it.
    """
    order = lengths.argsort(stable=True)
    sizes = lengths[order].tolist()
    first, tokens = 0, 0
    for row, size in enumerate(sizes):
        padded = size * (row - first + 1)
        full = padded > FILLED and padded > (1 + MOST_PADDING) * (tokens + size)
        if row - first == batch or full:
            yield order[first:row]
            first, tokens = row, 0
        tokens += size
    if first < len(order):
        yield order[first:]


def _ask(watch: Watcher, state: State, sequence: Tensor, width: int, end: int | None) -> Tensor:
    """Show a step to the watcher, one row per sequence; its answer, one per hypothesis.  # [B * width]"""
    best = _best_rows(state, width, end)  # [B]
    few = state.select(best)
    step = Step(sequence[best], few.tokens, few.log_prob, few.lengths, state.step, few.steps)
    answer = watch(step)
    if answer is None:
        return torch.ones_like(sequence, dtype=torch.bool)
    return answer.to(sequence.device).repeat_interleave(width)


def _renumber(watch: Watcher, rows: Tensor) -> Watcher:
    """The same watcher for a part of the vectors: it gets their rows among all of them."""
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


def _traces(frames: Tensor, lengths: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """Each sequence's own steps, before and after each, without those it sat out.

    frames: [B, T, L]; lengths: [B]
    """
    out = []
    for padded, length in zip(frames, lengths.tolist(), strict=True):
        sequence = padded[:, :length]  # [T, length]
        moved = [new for old, new in itertools.pairwise(sequence) if not torch.equal(old, new)]
        out.append((sequence[0], *moved))
    return tuple(out)
