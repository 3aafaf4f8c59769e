"""What a decoder is: it is given logits and a state, and returns a state. It never holds the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from unembed.decode.noise import uniform

PADDING = 0  # an entry like any other; attention does not see it, and no decoder touches it


@dataclass(frozen=True)
class State:
    """A batch of sequences between two denoising steps."""

    tokens: Tensor  # [B, L] the model's entries; mask_id where nothing is revealed, PADDING beyond the length
    log_prob: Tensor  # [B, L] of each token when it was revealed; 0 where masked
    lengths: Tensor  # [B]
    seeds: Tensor  # [B] what a sequence's random numbers are made of
    mask_id: int
    steps: Tensor  # [B] how many steps there will be, at most
    step: int = 0  # how many there have been
    origin: Tensor | None = None  # [B] the row that each row was before this step, where a decoder moves them
    given: Tensor | None = None  # [B, L] tokens that were known from the start: they are never taken back

    @property
    def steps_left(self) -> Tensor:
        """How many steps are left to each sequence, this one included: at least one.  # [B]"""
        return (self.steps - self.step).clamp(min=1)

    @property
    def masked(self) -> Tensor:
        """Where nothing is revealed yet.  # [B, L]"""
        return self.tokens == self.mask_id

    @property
    def revealed(self) -> Tensor:
        """Where a token stands: neither a mask nor beyond the length.  # [B, L]"""
        position = torch.arange(self.tokens.shape[1], device=self.tokens.device)  # [L]
        return ~self.masked & (position < self.lengths[:, None])

    @property
    def finished(self) -> Tensor:
        """Sequences without a mask.  # [B]"""
        return ~self.masked.any(dim=1)

    def uniform(self, channel: int = 0) -> Tensor:
        """This step's random numbers, the same for a sequence in any batch.  # [B, L]"""
        return uniform(self.seeds, self.tokens.shape[1], self.step, channel)

    def reveal(self, where: Tensor, tokens: Tensor, log_prob: Tensor) -> State:
        """Write tokens [M] at the M positions that `where` [B, L] marks."""
        return replace(
            self,
            tokens=self.tokens.masked_scatter(where, tokens),
            log_prob=self.log_prob.masked_scatter(where, log_prob),
        )

    def remask(self, where: Tensor) -> State:
        """Take back what `where` [B, L] marks, but for what was given."""
        where = where if self.given is None else where & ~self.given
        return replace(
            self,
            tokens=self.tokens.masked_fill(where, self.mask_id),
            log_prob=self.log_prob.masked_fill(where, 0.0),
        )

    def select(self, rows: Tensor) -> State:
        """Some of the sequences."""
        return replace(
            self,
            tokens=self.tokens[rows],
            log_prob=self.log_prob[rows],
            lengths=self.lengths[rows],
            steps=self.steps[rows],
            seeds=self.seeds[rows],
            origin=None if self.origin is None else self.origin[rows],
            given=None if self.given is None else self.given[rows],
        )


class Decoder(Protocol):
    """A strategy. The contract test (tests/decode/test_contract.py) says what each must keep to."""

    @property
    def name(self) -> str:
        """What `make_decoder` calls it."""

    @property
    def width(self) -> int:
        """Hypotheses per sequence, decoded side by side; the best one is returned. 1 for most."""

    @property
    def asks_all(self) -> bool:
        """Whether every step wants logits at all masks, and no hypothesis changes its row."""

    def passes(self, length: int, steps: int | None) -> int:
        """Forward passes that a sequence of `length` takes at most: `width` per step."""

    def time(self, state: State) -> Tensor:
        """The t that the model gets: the share that is masked, for a model trained on shares.  # [B]"""

    def wanted(self, state: State) -> Tensor:
        """Where this step needs logits: no others are computed.  # [B, L]"""

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        """One denoising step. logits: [M, V] at the M wanted positions, row by row."""


class BaseDecoder:
    """What most decoders share: one hypothesis, logits wherever there is a mask."""

    width = 1
    asks_all: ClassVar[bool] = True

    def time(self, state: State) -> Tensor:
        return state.masked.sum(dim=1) / state.lengths  # [B]

    def wanted(self, state: State) -> Tensor:
        return state.masked


def steps_for(length: int, steps: int | None) -> int:
    """At least one step, at most one per token; None is one per token."""
    return length if steps is None else max(1, min(steps, length))


def share_now(left: Tensor, state: State) -> Tensor:
    """How many of `left` [B] come now, so that all have come by the last step.  # [B]"""
    remaining = state.steps_left  # [B]
    return torch.div(left + remaining - 1, remaining, rounding_mode="floor")


def spread(values: Tensor, where: Tensor, fill: float) -> Tensor:
    """Values [M] at the M positions of `where` [B, L], `fill` elsewhere.  # [B, L]"""
    return torch.full(where.shape, fill, dtype=values.dtype, device=values.device).masked_scatter(
        where, values
    )


def largest(values: Tensor, count: Tensor) -> Tensor:
    """Mark the `count` [B] largest of each row; a tie goes to the left.  # [B, L]"""
    order = values.argsort(dim=1, descending=True, stable=True)  # [B, L]
    rank = order.argsort(dim=1)  # [B, L]
    return rank < count[:, None]
