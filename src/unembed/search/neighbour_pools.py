"""Single-edit neighbours of the beam's texts that are not embedded yet, and whose turn it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from unembed.search.candidate_pool import CandidatePool
from unembed.search.edits import Entries

DEEPEN = 3  # after so many turns of the best text its less likely neighbours are tried too


@dataclass
class NeighbourPools:
    """A pool per text of the beam. Each turn of a text counts as one rank less."""

    pools: dict[str, CandidatePool] = field(default_factory=dict)  # by text
    turns: Counter[str] = field(default_factory=Counter)  # by text
    unread: dict[str, list[Entries]] = field(default_factory=dict)  # by text, what its next turn adds
    deepened: set[str] = field(default_factory=set)  # texts whose less likely neighbours are known too

    def next_rank(self, beam: Sequence[str]) -> int | None:
        """The rank of the text in the beam whose neighbours are tried next; None where none are left.

        The best text waits for its less likely neighbours even where nothing else is left of it.
        """
        left = [
            (rank + self.turns[text], rank)
            for rank, text in enumerate(beam)
            if self._left(text) or (rank == 0 and self.wants_deeper(text))
        ]
        return min(left)[1] if left else None

    def wants_deeper(self, best: str) -> bool:
        """Whether it is time to try less likely neighbours of the beam's best text too: once.

        It is after a few turns, or when its likely neighbours have run out before.
        """
        return best not in self.deepened and (not self._left(best) or self.turns[best] >= DEEPEN)

    def _left(self, text: str) -> bool:
        """Whether a text has neighbours that are not embedded, as far as one knows."""
        return bool(self.pools.get(text, True) or self.unread.get(text))

    def deepen(self, text: str) -> None:
        """Its less likely neighbours are known from now on: its turns are counted from zero again."""
        self.deepened.add(text)
        self.turns[text] = 0

    def add(self, text: str, pool: CandidatePool) -> None:
        """More neighbours of a text, behind those that are known."""
        known = self.pools.get(text)
        self.pools[text] = pool if known is None else known.joined(pool)

    def untried(self, text: str, tried: Container[str]) -> CandidatePool:
        """What is left of a text's neighbours."""
        return self.pools[text].without(tried)

    def forget_all_but(self, beam: Container[str]) -> None:
        """Drop the neighbours of texts that left the beam."""
        self.pools = {text: pool for text, pool in self.pools.items() if text in beam}
        self.unread = {text: some for text, some in self.unread.items() if text in beam}
