"""What comes out of one vector: the text, how sure the model is of it, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MASK = "░"


@dataclass(frozen=True)
class Alternative:
    """Another text that the vector may stand for."""

    text: str
    tokens: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class Frame:
    """A text between two denoising steps; None and `░` stand for a mask."""

    tokens: tuple[int | None, ...]
    text: str


@dataclass(frozen=True)
class Advance:
    """The nearest text after so many encoder calls of a guided search."""

    calls: int
    cosine: float
    text: str
    tokens: tuple[int, ...]
    score: float | None = None  # log-probability by the model, where it was asked


RankedBy = Literal["score", "surrogate", "encoder"]


@dataclass(frozen=True)
class Inversion:
    """What was read out of one vector."""

    text: str
    tokens: tuple[int, ...]  # the tokenizer's ids
    score: float  # log-probability by the model, see rank.py
    forward_passes: int  # of the blocks, for all candidate lengths and hypotheses together
    length_known: bool  # whether the caller gave the length
    alternatives: tuple[Alternative, ...] = ()  # the next best texts, best first
    trace: tuple[Frame, ...] | None = None  # the text before and after every step
    encoder_calls: int = 0  # texts that were embedded to find this one
    cosine: float | None = None  # of the text's vector to the target, by the encoder that guided the search
    advances: tuple[Advance, ...] = ()  # every time that the search found a nearer text
    at_calls: tuple[Advance, ...] = ()  # the best text at each number of calls that `report_at` names
    log_probs: tuple[float, ...] = ()  # of each token when it was revealed; a search has none
    ranked_by: RankedBy = "score"  # what chose it among the hypotheses
    error: str | None = None  # why this vector could not be inverted; its text is empty then
