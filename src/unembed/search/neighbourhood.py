"""The neighbourhood of a text: what the search may try of it in the rounds to come.

It holds the single-edit neighbours. Where a surrogate can rank them, there are more: words that the text
lacks, words that stand elsewhere, and the edits of the best-ranked neighbours combined two by two. The
surrogate reads only those single edits that are promising by their words alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.search.candidate_pool import CandidatePool
from unembed.search.candidate_reader import CandidateReader, trigram_log_probs
from unembed.search.edits import Entries, moves
from unembed.search.merge import pairs
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.single_edits import Neighbour, SingleEdits
from unembed.search.word_ranking import order_by_words
from unembed.search.written_form import Writer

MAX_LIKELY = 150  # single-edit neighbours that enter the pool, by their words' probability
DEEPER = 4  # times as many words are tried where that has led nowhere


class Neighbourhood:
    """Fills the states' pools of neighbours."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        settings: GuidedSettings,
        prefilter: SurrogatePrefilter | None,
        phrases: Phrases | None,
        writer: Writer | None = None,
    ) -> None:
        self._checkpoint, self._settings = checkpoint, settings
        self._phrases = phrases
        self._words = None if prefilter is None else prefilter.word_vectors(checkpoint)
        self._reader = CandidateReader(checkpoint, prefilter, phrases, writer)

    def explore(
        self,
        asked: Sequence[tuple[SearchState, Hypothesis]],
        aims: NDArray[np.float32],
        *,
        deep: bool = False,
    ) -> None:
        """Find the neighbours of these texts, one per state, and add them to the states' pools.

        aims: [n, D], the vectors that the denoiser reads; deep: take less likely words and longer moves
        too, of texts that were explored already.
        """
        if not asked:
            return
        found = self._single_edits(asked, aims, deep=deep)
        now: list[list[Entries]] = []
        for (state, parent), near in zip(asked, found, strict=True):
            first, later = self._candidates(state, parent, near, deep=deep)
            now.append(first)
            if later:
                state.neighbours.unread[parent.text] = later
        self._fill(asked, now)

    def look_again(self, asked: Sequence[tuple[SearchState, Hypothesis]]) -> None:
        """Read what a first look at these texts, one per state, left out."""
        if asked:
            rest = [state.neighbours.unread.pop(parent.text) for state, parent in asked]
            self._fill(asked, rest)

    def _fill(
        self, asked: Sequence[tuple[SearchState, Hypothesis]], entries: Sequence[Sequence[Entries]]
    ) -> None:
        """Read these neighbours, and pairs of the best of all that are known; add them to the pools."""
        pools = self._read(asked, entries)
        for (state, parent), pool in zip(asked, pools, strict=True):
            state.neighbours.add(parent.text, pool)
        if self._words is not None and self._settings.pairs:
            combined = [self._pairs(state, parent) for state, parent in asked]
            for (state, parent), pool in zip(asked, self._read(asked, combined), strict=True):
                state.neighbours.add(parent.text, pool)

    def _single_edits(
        self, asked: Sequence[tuple[SearchState, Hypothesis]], aims: NDArray[np.float32], *, deep: bool
    ) -> list[list[Neighbour]]:
        times = DEEPER if deep else 1
        settings, states = self._settings, [state for state, _ in asked]
        edits = SingleEdits(
            self._checkpoint,
            settings.words_per_position * times,
            settings.missing_words * times,
            settings.words_per_mask,
        )
        found = edits.around(
            [parent.entries for _, parent in asked],
            aims,
            max_length=states[0].max_length or self._checkpoint.config.denoiser.max_length,
            lengths=[state.length for state in states],
        )
        for state, one in zip(states, found, strict=True):
            state.forward_passes += one.passes
        return [one.neighbours for one in found]

    def _read(
        self, asked: Sequence[tuple[SearchState, Hypothesis]], entries: Sequence[Sequence[Entries]]
    ) -> list[CandidatePool]:
        """The new texts of these entries, written as their parents are."""
        states = [state for state, _ in asked]
        forms = [[parent.form] * len(some) for (_, parent), some in zip(asked, entries, strict=True)]
        return [pool for _, pool in self._reader.read(states, entries, forms)]

    def _candidates(
        self, state: SearchState, parent: Hypothesis, neighbours: Sequence[Neighbour], *, deep: bool
    ) -> tuple[list[Entries], list[Entries]]:
        """What is read now, and what when the text has another turn.

        The likeliest first; then, where a surrogate can rank them, words that the text lacks and moves.
        """
        times = DEEPER if deep else 1
        ranked = sorted(neighbours, key=lambda one: -one.log_prob)
        likely = [one for one in ranked if not one.missing][: MAX_LIKELY * times]
        if self._words is None:
            return [one.entries for one in likely], []
        lack, most = state.target - parent.vector, self._settings.single_edits * times  # [D]
        kinds = [
            self._promising(some, lack, most, deep=deep)
            for some in (likely, [one for one in ranked if one.missing])
        ]
        every = self._moves(state, parent, deep=deep)
        first = self._first_look(len(every), deep=deep)
        kinds.append((every[:first], every[first:]))
        return [one for now, _ in kinds for one in now], [one for _, later in kinds for one in later]

    def _first_look(self, count: int, *, deep: bool) -> int:
        """How many of these are read at first."""
        return count if deep else -(-count // self._settings.first_look)

    def _promising(
        self, some: Sequence[Neighbour], lack: NDArray[np.float32], most: int, *, deep: bool
    ) -> tuple[list[Entries], list[Entries]]:
        """Those that are worth the surrogate's reading, at first and later, in the order in which they came.

        At most so many, if that is not 0.
        """
        most = min(most or len(some), len(some))
        first = self._first_look(most, deep=deep)
        if self._words is None or first == len(some):
            return [one.entries for one in some], []
        log_probs = None
        if self._phrases is not None:
            log_probs = trigram_log_probs(self._phrases, [one.entries for one in some])
        order = order_by_words(self._words, some, lack, log_probs).tolist()
        now, later = (sorted(part) for part in (order[:first], order[first:most]))
        return [some[index].entries for index in now], [some[index].entries for index in later]

    def _moves(self, state: SearchState, parent: Hypothesis, *, deep: bool) -> list[Entries]:
        """Texts in which some words stand elsewhere: those whose trigrams are likeliest, or any."""
        # Of two spans that swap positions, one is at most half of the text.
        every = moves(parent.entries, len(parent.entries) // 2) if deep else moves(parent.entries)
        if self._phrases is not None:
            order = np.argsort(-trigram_log_probs(self._phrases, every), kind="stable")
        else:
            order = state.random.permutation(len(every))
        return [every[index] for index in order[: self._settings.moves].tolist()]

    def _pairs(self, state: SearchState, parent: Hypothesis) -> list[Entries]:
        """The edits of a text's best-ranked neighbours, every two combined."""
        pool = state.neighbours.pools[parent.text]
        best = [pool.entries[index] for index in state.ranked(pool)[: self._settings.pairs]]
        combined, known = pairs(parent.entries, best), set(pool.entries)
        return [entries for entries in combined if entries not in known and state.allows(entries)]
