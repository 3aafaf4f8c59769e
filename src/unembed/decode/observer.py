"""What an observer of an inversion gets, after every denoising step or round of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SearchProgress:
    """How far a guided search is."""

    text: str  # the best so far
    cosine: float
    encoder_calls: int
    max_encoder_calls: int
    found: bool  # whether the search is over because the text is as near as it can be


@dataclass(frozen=True)
class Update:
    """One vector between two steps."""

    row: int  # which of the vectors, counted from 0
    length: int  # tokens of the text that is decoded: candidate lengths come one after the other
    tokens: tuple[int | None, ...]  # the tokenizer's ids; None where there is still a mask
    log_probs: tuple[float, ...]  # of each token when it was revealed; empty in a search
    step: int  # denoising steps, or rounds of a search, so far
    steps: int | None  # at most, where that is known
    search: SearchProgress | None = None  # in a guided search


# Returns which of these vectors are still wanted, or None for all. The others are given up:
# they cost nothing more, and what has been found for them until then is their result.
Observer = Callable[[Sequence[Update]], Sequence[bool] | None]
