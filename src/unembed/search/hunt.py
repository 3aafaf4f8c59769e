"""One vector under search: the texts tried so far, how near each comes, and what is left to spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Hypothesis:
    """A text that was embedded."""

    entries: tuple[int, ...]  # the model's entries, without end and padding
    text: str
    vector: NDArray[np.float32]  # [D] of the text, of length 1
    cosine: float  # to the target
    made_by: str  # the edit that made it


@dataclass
class Hunt:
    """The state of one target. Nothing in it depends on the other targets of its batch."""

    target: NDArray[np.float32]  # [D] of length 1
    random: np.random.Generator
    budget: int  # encoder calls
    width: int  # of the beam
    near_enough: float  # the cosine at which it ends
    length: int | None = None  # tokens of the text, where the caller knows
    tried: dict[str, Hypothesis] = field(default_factory=dict)
    beam: list[Hypothesis] = field(default_factory=list)  # nearest first
    history: list[tuple[int, Hypothesis]] = field(default_factory=list)  # calls made, and a nearer text
    calls: int = 0
    forward_passes: int = 0
    idle: int = 0  # rounds without a new text
    pulled: set[str] = field(default_factory=set)  # texts whose gradient was asked for
    likely: NDArray[np.int64] | None = None  # entries that the lexical head expects
    scouted: dict[str, float] = field(default_factory=dict)  # cosines by the scout
    stale: int = 0  # rounds without a nearer text

    @property
    def best(self) -> Hypothesis | None:
        return self.beam[0] if self.beam else None

    @property
    def left(self) -> int:
        """Encoder calls that it may still make."""
        return self.budget - self.calls

    @property
    def found(self) -> bool:
        return self.best is not None and self.best.cosine >= self.near_enough

    def fresh(self, texts: Sequence[str]) -> list[int]:
        """Places of the texts that are new, each once."""
        seen: set[str] = set()
        places = []
        for place, text in enumerate(texts):
            if text and text not in self.tried and text not in seen:
                seen.add(text)
                places.append(place)
        return places

    def add(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Take in what was embedded, in this order: one call each."""
        before = self.calls
        for one in hypotheses:
            self.calls += 1
            self.tried[one.text] = one
            if not self.history or one.cosine > self.history[-1][1].cosine:
                self.history.append((self.calls, one))
        self.idle = 0 if hypotheses else self.idle + 1
        self.stale = 0 if self.history and self.history[-1][0] > before else self.stale + 1
        # Of equally near texts the one that came first stays: the sort is stable.
        self.beam = sorted([*self.beam, *hypotheses], key=lambda one: -one.cosine)[: self.width]
