"""The state of the search for one vector: the texts tried so far, how near each comes, and the beam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unembed.search.candidate_pool import CandidatePool
from unembed.search.error_model import GPErrorModel
from unembed.search.local_map import LocalMap
from unembed.search.neighbour_pools import NeighbourPools
from unembed.search.objective import LEAST_SCORE, Objective
from unembed.search.settings import GuidedSettings
from unembed.search.written_form import Form

MAX_SIMILARITY = 0.5  # of the word pairs of two texts, the share up to which they are unlike
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
    form: Form | None = None  # how the entries are written, where the encoder tells that apart


def similarity(one: Sequence[int], other: Sequence[int]) -> float:
    """Of the pairs of neighbouring words in the longer text, edges included, the share that both have."""
    mine, theirs = _pairs(one), _pairs(other)
    return (mine & theirs).total() / max(mine.total(), theirs.total())


def _pairs(text: Sequence[int]) -> Counter[tuple[int | None, int | None]]:
    return Counter(zip([None, *text], [*text, None], strict=True))


@dataclass
class SearchState:
    """The state of one target. Nothing in it depends on the other targets of its batch."""

    target: NDArray[np.float32]  # [D] of length 1
    random: np.random.Generator
    settings: GuidedSettings
    objective: Objective
    length: int | None = None  # tokens of the text, where the caller knows
    max_length: int | None = None  # tokens that a text may have
    error_model: GPErrorModel | None = None  # of the surrogate, around the target
    local_map: LocalMap | None = None  # an adapter's, where it is refitted
    spent: int = 0  # encoder calls before the search: for the pairs that its first map was fitted on
    # What was found.
    tried: dict[str, Hypothesis] = field(default_factory=dict)
    denoiser_scores: dict[str, float] = field(default_factory=dict)  # of texts that came near enough
    trigram_log_probs: dict[str, float] = field(default_factory=dict)  # of all texts, if they are known
    history: list[Hypothesis] = field(default_factory=list)  # every text that was better than all before
    calls: int = 0  # of the encoder
    forward_passes: int = 0  # of the denoiser
    # Where the search is.
    beam: list[Hypothesis] = field(default_factory=list)  # what is edited next, most valuable first
    neighbours: NeighbourPools = field(default_factory=NeighbourPools)
    idle: int = 0  # rounds without a new text
    stale: int = 0  # rounds without a better text
    gains: dict[str, list[Hypothesis]] = field(default_factory=dict)  # by parent, what beat it, best first
    new_gains: dict[str, list[Hypothesis]] = field(default_factory=dict)  # of those, which grew last round
    gradients_asked: set[str] = field(default_factory=set)  # texts
    likely_words: NDArray[np.int64] | None = None  # entries that the lexical head expects
    _best_call: int = 0  # the call of the best text when the beam was last chosen

    def __post_init__(self) -> None:
        self.calls += self.spent

    @property
    def aim(self) -> NDArray[np.float32]:
        """What the denoiser reads in place of the target."""
        return self.aim_at(self.target)

    def aim_at(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the denoiser reads in place of a vector [D]: itself, or what a refitted map makes of it."""
        return vector if self.local_map is None else self.local_map(vector[None])[0]

    @property
    def best(self) -> Hypothesis | None:
        """The nearest text; by a surrogate's cosines, the most valuable one."""
        return self.history[-1] if self.history else None

    @property
    def calls_left(self) -> int:
        """Encoder calls that it may still make."""
        return self.settings.max_encoder_calls - self.calls

    @property
    def found(self) -> bool:
        """Whether the best text is near enough to be the one."""
        near = self.best is not None and self.best.cosine >= self.settings.target_cosine
        return near and not self.objective.by_surrogate

    def allows(self, entries: Sequence[int]) -> bool:
        """Whether a text is of a length that the model can write, and that the wanted one can have."""
        fits = self.max_length is None or len(entries) <= self.max_length
        return len(entries) >= 1 and fits and self.length in (None, len(entries))

    def new_indices(self, texts: Sequence[str]) -> list[int]:
        """Indices of the texts that were not tried, each text once."""
        seen: set[str] = set()
        indices = []
        for index, text in enumerate(texts):
            if text and text not in self.tried and text not in seen:
                seen.add(text)
                indices.append(index)
        return indices

    def value(self, one: Hypothesis) -> float:
        """How good a text is to edit next.

        A text that has no score by the denoiser yet is taken to be as likely as the one that it was made of.
        """
        score = None
        known = one.text if one.text in self.denoiser_scores else one.parent
        if self.objective.denoiser_weight and known is not None:
            score = self.denoiser_scores.get(known, LEAST_SCORE)
        return self.objective.value(one.cosine, self.trigram_log_probs.get(one.text, 0.0), score)

    def ranked(self, pool: CandidatePool) -> list[int]:
        """Indices of candidates, best first, by all that is known now."""
        return pool.ranked(self.error_model, self.objective.trigram_weight)

    def add(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Take in what was embedded, in this order: one call each. Returns those that may enter the beam."""
        self.idle = 0 if hypotheses else self.idle + 1
        for one in hypotheses:
            self.tried[one.text] = one
            self.calls += 1
        self._note_gains(hypotheses)
        if not self.objective.by_surrogate:
            self._compare(hypotheses, lambda one: one.cosine)
        width = self.settings.beam_width
        worst = self.value(self.beam[-1]) if len(self.beam) == width else -float("inf")
        # The sort is stable: of equal texts the one that came first stays.
        best = sorted(hypotheses, key=lambda one: -self.value(one))[:width]
        hope = self.objective.denoiser_weight * HOPE
        return [one for one in best if self.value(one) + hope > worst]

    def choose_beam(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Choose what is edited next, among the beam and these, once their scores are known."""
        if self.objective.by_surrogate:
            self._compare(sorted(hypotheses, key=lambda one: one.call), self.value)
        latest = self.history[-1].call if self.history else 0
        self.stale = 0 if latest > self._best_call else self.stale + 1
        self._best_call = latest
        width, diversify_after = self.settings.beam_width, self.settings.diversify_after
        # Everything tried so far gets another chance at the moment that the beam diversifies.
        chosen = self.tried.values() if self.stale == diversify_after else [*self.beam, *hypotheses]
        ranked = sorted(chosen, key=lambda one: -self.value(one))
        self.beam = ranked[:width] if self.stale < diversify_after else self._unlike(ranked, width)
        self.neighbours.forget_all_but({one.text for one in self.beam})

    def next_parent(self) -> Hypothesis | None:
        """The text of the beam whose neighbours are tried next."""
        rank = self.neighbours.next_rank([one.text for one in self.beam])
        return None if rank is None else self.beam[rank]

    def wants_deeper(self, one: Hypothesis) -> bool:
        """Whether it is time to try less likely neighbours of a text too: of the best one only."""
        return one is self.beam[0] and self.neighbours.wants_deeper(one.text)

    def take_neighbours(self, one: Hypothesis, count: int) -> list[tuple[int, ...]]:
        """Take the next neighbours of a text out of its pool: the best-ranked."""
        self.neighbours.turns[one.text] += 1
        pool = self.neighbours.untried(one.text, self.tried)
        taken = self.ranked(pool)[:count]
        self.neighbours.pools[one.text] = pool.without({pool.texts[index] for index in taken})
        return [pool.entries[index] for index in taken]

    def _note_gains(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Remember which edits brought their parents nearer."""
        self.new_gains = {}
        for one in sorted(hypotheses, key=lambda one: -one.cosine):
            parent = None if one.parent is None else self.tried[one.parent]
            if parent is None or (one.form != parent.form and one.entries == parent.entries):
                continue  # a text that is only written otherwise has nothing to merge
            if one.cosine > parent.cosine:
                gains = self.new_gains[parent.text] = self.gains.setdefault(parent.text, [])
                gains.append(one)
        for gains in self.new_gains.values():
            gains.sort(key=lambda one: -one.cosine)

    def _unlike(self, hypotheses: Sequence[Hypothesis], count: int) -> list[Hypothesis]:
        """The first of these that are not similar to one before them.

        Else the beam fills with one text's neighbours, and where that text leads nowhere all of them do.
        """
        out: list[Hypothesis] = []
        for one in hypotheses:
            if len(out) == count:
                break
            if all(similarity(one.entries, other.entries) <= MAX_SIMILARITY for other in out):
                out.append(one)
        return out

    def _compare(self, hypotheses: Sequence[Hypothesis], worth: Callable[[Hypothesis], float]) -> None:
        """Note every text that is better than all before it."""
        for one in hypotheses:
            if not self.history or worth(one) > worth(self.history[-1]):
                self.history.append(one)
