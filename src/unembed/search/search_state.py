"""One vector under search: the texts tried so far, how near each comes, and what is left to spend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unembed.search.error_model import Beliefs

LEAST_SCORE = -50.0  # nothing counts as less likely than that
ALIKE = 0.5  # of the word pairs of two texts, the share up to which they are unlike
DEEPEN = 3  # after so many turns of the best text its less likely neighbours are looked at too
HOPE = 1.0  # by so much an edited text's score may exceed its parent's; one that needs more is not scored


@dataclass(frozen=True)
class Hypothesis:
    """A text that was embedded."""

    entries: tuple[int, ...]  # the model's entries, without end and padding
    text: str
    vector: NDArray[np.float32]  # [D] of the text, of length 1
    cosine: float  # to the target
    made_by: str  # the edit that made it
    parent: str | None = None  # the text that was edited
    call: int = 0  # the encoder call that it cost, counted from 1


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """Of the pairs of neighbouring words in the longer text, edges included, the share that both have."""
    mine, theirs = _pairs(one), _pairs(other)
    return (mine & theirs).total() / max(mine.total(), theirs.total())


def _pairs(text: Sequence[int]) -> Counter[tuple[int | None, int | None]]:
    return Counter(zip([None, *text], [*text, None], strict=True))


@dataclass
class Leftovers:
    """Texts one edit away from another that are not embedded yet, most promising first."""

    texts: list[str]
    entries: list[tuple[int, ...]]
    scouted: NDArray[np.float32] | None = None  # [n, D] the scout's vectors of them
    said: NDArray[np.float32] | None = None  # [n] the log-probability of each by its phrases

    def __len__(self) -> int:
        return len(self.texts)

    def without(self, texts: Container[str]) -> Leftovers:
        kept = [place for place, text in enumerate(self.texts) if text not in texts]
        if len(kept) == len(self):
            return self
        return Leftovers(
            [self.texts[place] for place in kept],
            [self.entries[place] for place in kept],
            None if self.scouted is None else self.scouted[kept],
            None if self.said is None else self.said[kept],
        )

    def joined(self, other: Leftovers) -> Leftovers:
        """Both, in this order; what is in both stays where it is first."""
        other = other.without(set(self.texts))
        return Leftovers(
            [*self.texts, *other.texts],
            [*self.entries, *other.entries],
            _both(self.scouted, other.scouted),
            _both(self.said, other.said),
        )


def _both(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    return None if one is None or other is None else np.concatenate([one, other])


@dataclass
class Hunt:
    """The state of one target. Nothing in it depends on the other targets of its batch."""

    target: NDArray[np.float32]  # [D] of length 1
    random: np.random.Generator
    budget: int  # encoder calls
    width: int  # of the beam
    near_enough: float  # the cosine at which it ends
    spread: int = 1_000_000  # after so many rounds without a better text the beam holds unlike ones
    phrasing: float = 0.0  # what a nat of a text's phrases is worth in cosine
    fluency: float = 0.0  # what a unit of a score by the model is worth in cosine
    scored: bool = True  # the model gives scores; otherwise only phrases do
    imitated: bool = False  # the cosines are an imitation's: the nearest text need not be the one
    length: int | None = None  # tokens of the text, where the caller knows
    longest: int | None = None  # tokens that a text may have
    tried: dict[str, Hypothesis] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)  # by the model, of texts that came near enough
    said: dict[str, float] = field(default_factory=dict)  # by phrases, of all texts, if they are known
    beam: list[Hypothesis] = field(default_factory=list)  # what is edited next, most valuable first
    history: list[Hypothesis] = field(default_factory=list)  # every text that was better than all before
    calls: int = 0
    forward_passes: int = 0
    idle: int = 0  # rounds without a new text
    pulled: set[str] = field(default_factory=set)  # texts whose gradient was asked for
    neighbours: dict[str, Leftovers] = field(default_factory=dict)  # of texts of the beam
    swept: Counter[str] = field(default_factory=Counter)  # how often it was a text's turn
    deepened: set[str] = field(default_factory=set)  # texts whose less likely neighbours are known too
    likely: NDArray[np.int64] | None = None  # entries that the lexical head expects
    beliefs: Beliefs | None = None  # what a scout's errors are around the target
    gains: dict[str, list[Hypothesis]] = field(default_factory=dict)  # by parent, what beat it, best first
    nearer: dict[str, list[Hypothesis]] = field(default_factory=dict)  # of those, which grew last round
    stale: int = 0  # rounds without a better text
    _seen: int = 0  # the call of the best text when the beam was last chosen

    @property
    def best(self) -> Hypothesis | None:
        """The nearest text; by an imitation's cosines, the most valuable one."""
        return self.history[-1] if self.history else None

    @property
    def left(self) -> int:
        """Encoder calls that it may still make."""
        return self.budget - self.calls

    @property
    def found(self) -> bool:
        return self.best is not None and not self.imitated and self.best.cosine >= self.near_enough

    def allows(self, entries: Sequence[int]) -> bool:
        """Whether a draft is of a length that the model can write, and that the text can have."""
        room = self.longest is None or len(entries) <= self.longest
        return len(entries) >= 1 and room and self.length in (None, len(entries))

    def fresh(self, texts: Sequence[str]) -> list[int]:
        """Places of the texts that are new, each once."""
        seen: set[str] = set()
        places = []
        for place, text in enumerate(texts):
            if text and text not in self.tried and text not in seen:
                seen.add(text)
                places.append(place)
        return places

    def value(self, one: Hypothesis) -> float:
        """How good a text is to go on from: near, and likely. Nonsense comes near too.

        A text that has no score by the model yet is taken to be as likely as the one that it was made of.
        """
        value = one.cosine + self.phrasing * self.said.get(one.text, 0.0)
        known = one.text if one.text in self.scores else one.parent
        if self.scored and known is not None:
            value += self.fluency * max(self.scores.get(known, LEAST_SCORE), LEAST_SCORE)
        return value

    def add(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Take in what was embedded, in this order: one call each. Returns those that may enter the beam."""
        self.idle = 0 if hypotheses else self.idle + 1
        for one in hypotheses:
            self.tried[one.text] = one
            self.calls += 1
        self.nearer = {}
        for one in sorted(hypotheses, key=lambda one: -one.cosine):
            if one.parent is not None and one.cosine > self.tried[one.parent].cosine:
                gains = self.nearer[one.parent] = self.gains.setdefault(one.parent, [])
                gains.append(one)
        for gains in self.nearer.values():
            gains.sort(key=lambda one: -one.cosine)
        if not self.imitated:
            self._compare(hypotheses, lambda one: one.cosine)
        worst = self.value(self.beam[-1]) if len(self.beam) == self.width else -float("inf")
        # The sort is stable: of equal texts the one that came first stays.
        best = sorted(hypotheses, key=lambda one: -self.value(one))[: self.width]
        hope = self.fluency * HOPE if self.scored else 0.0
        return [one for one in best if self.value(one) + hope > worst]

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Choose what is edited next, among the beam and these, once their scores are known."""
        if self.imitated:
            self._compare(sorted(hypotheses, key=lambda one: one.call), self.value)
        latest = self.history[-1].call if self.history else 0
        self.stale = 0 if latest > self._seen else self.stale + 1
        self._seen = latest
        # Everything tried so far gets another chance at the moment that the search spreads out.
        chosen = self.tried.values() if self.stale == self.spread else [*self.beam, *hypotheses]
        ranked = sorted(chosen, key=lambda one: -self.value(one))
        self.beam = ranked[: self.width] if self.stale < self.spread else self._apart(ranked)
        near = {one.text for one in self.beam}
        self.neighbours = {text: left for text, left in self.neighbours.items() if text in near}

    def next_to_sweep(self) -> Hypothesis | None:
        """The text of the beam whose neighbours are tried next: each round on one counts as a rank less."""
        left = [
            (rank + self.swept[one.text], rank, one)
            for rank, one in enumerate(self.beam)
            if self.neighbours.get(one.text, True)
        ]
        return min(left)[2] if left else None

    def wants_deeper(self, one: Hypothesis) -> bool:
        """Whether it is time to look at less likely neighbours of a text too: of the best one, and once."""
        return one is self.beam[0] and self.swept[one.text] == DEEPEN and one.text not in self.deepened

    def deepen(self, one: Hypothesis) -> None:
        """Its less likely neighbours are known from now on; what comes of that begins its turns anew."""
        self.deepened.add(one.text)
        self.swept[one.text] = 0

    def sweep(self, one: Hypothesis, count: int) -> list[tuple[int, ...]]:
        """Take the next neighbours of a text: those that promise most, by all that is known now."""
        self.swept[one.text] += 1
        left = self.neighbours[one.text].without(self.tried)
        order = self.ranked(left)[:count]
        self.neighbours[one.text] = left.without({left.texts[place] for place in order})
        return [left.entries[place] for place in order]

    def ranked(self, left: Leftovers) -> list[int]:
        """Places of texts to be embedded, the most promising first; without a scout, as they are."""
        if self.beliefs is None or left.scouted is None:
            return list(range(len(left)))
        promise = self.beliefs.promise(left.scouted)  # [n]
        if left.said is not None:
            promise += np.float32(self.phrasing) * left.said
        return np.argsort(-promise, kind="stable").tolist()  # type: ignore[no-any-return]

    def _apart(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The first of these that are not much like one before them, as many as the beam is wide.

        Else the beam fills with one text's neighbours, and where that text leads nowhere all of them do.
        """
        out: list[Hypothesis] = []
        for one in hypotheses:
            if len(out) == self.width:
                break
            if all(likeness(one.entries, other.entries) <= ALIKE for other in out):
                out.append(one)
        return out

    def _compare(self, hypotheses: Sequence[Hypothesis], worth: Callable[[Hypothesis], float]) -> None:
        for one in hypotheses:
            if not self.history or worth(one) > worth(self.history[-1]):
                self.history.append(one)
