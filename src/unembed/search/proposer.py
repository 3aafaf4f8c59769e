"""What a round of the search proposes: random and merged edits, gradient substitutions, neighbours, forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.decode.noise import combine
from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import EDITS, Entries
from unembed.search.form_variants import FORM, FormVariants
from unembed.search.fresh_inversions import FRESH, FreshInversions
from unembed.search.gradient import Substitutions
from unembed.search.merge import MERGED, merges
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.refill import refill
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.single_edits import NEIGHBOUR
from unembed.search.written_form import Form

Floats = NDArray[np.float32]

# How likely a text is edited once more: at first, more per round without a nearer text, at most.
ONCE_AGAIN, PER_STALE_ROUND, MOST_AGAIN = 0.1, 0.01, 0.3

_NAMES = list(EDITS)
_SHARES = np.array([EDITS[name][0] for name in _NAMES])
_SHARES /= _SHARES.sum()


@dataclass(frozen=True)
class Proposal:
    """An edited text on its way to the encoder."""

    entries: Entries
    aim: Floats  # [D] the vector that the denoiser reads
    made_by: str
    parent: str | None = None  # the text that was edited
    chosen: bool = False  # among many already: the prefilter lets it pass
    form: Form | None = None  # how it is written, where the encoder tells that apart


class Proposer:
    """Makes the proposals of all states together, so that every forward pass is a full batch."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        settings: GuidedSettings,
        neighbourhood: Neighbourhood,
        substitutions: Substitutions | None,
        variants: FormVariants | None = None,
        fresh: FreshInversions | None = None,
        *,
        batch: int,
    ) -> None:
        self._checkpoint, self._settings, self._batch = checkpoint, settings, batch
        self._neighbourhood, self._substitutions, self._variants = neighbourhood, substitutions, variants
        self._fresh_inversions = fresh

    def propose(self, states: Sequence[SearchState], number: int) -> list[list[Proposal]]:
        """The proposals of each state in this round: no masks are left in them."""
        edited = [self._edits(state) for state in states]
        out = [self._forms(state) + self._merged(state) for state in states]
        for more in (
            self._fresh(states, number),
            self._by_gradient(states),
            self._neighbours(states),
            self._refill(states, edited, number),
        ):
            for some, new in zip(out, more, strict=True):
                some += new
        return out

    def _edits(self, state: SearchState) -> list[Proposal]:
        """Random edits of the beam's texts, with masks: not as long as neighbours come ever nearer."""
        ranked = state.error_model is not None and self._settings.neighbours
        if ranked and state.stale < self._settings.random_after:
            return []
        every = [self._edit(state, parent) for parent in state.beam for _ in range(self._settings.proposals)]
        return [one for one in every if state.allows(one.entries)]

    def _edit(self, state: SearchState, parent: Hypothesis) -> Proposal:
        name, entries = "", parent.entries
        # One edit, sometimes another on top of it: the longer nothing came nearer, the more.
        again = min(MOST_AGAIN, ONCE_AGAIN + PER_STALE_ROUND * state.stale)
        while not name or state.random.random() < again:
            kind = _NAMES[int(state.random.choice(len(_NAMES), p=_SHARES))]
            name = kind if not name else "several"
            entries = EDITS[kind][1](entries, state.random)
        if self._settings.overshoot and state.random.random() < 0.5:
            aim = self._beyond(state, parent)
            return Proposal(entries, aim, f"{name}+", parent.text, form=parent.form)
        return Proposal(entries, state.aim, name, parent.text, form=parent.form)

    def _beyond(self, state: SearchState, parent: Hypothesis) -> Floats:
        """Beyond the target, away from the text's own vector: it stresses what the text lacks.  # [D]"""
        aim = state.target + self._settings.overshoot * (state.target - parent.vector)
        return state.aim_at((aim / np.linalg.norm(aim)).astype(np.float32))

    def _refill(
        self, states: Sequence[SearchState], edited: Sequence[Sequence[Proposal]], number: int
    ) -> list[list[Proposal]]:
        """The edits with their masks filled by the denoiser."""
        every = [one for some in edited for one in some]
        if not every:  # every edit left the bounds of what may be written
            return [[] for _ in states]
        owner = torch.tensor([row for row, some in enumerate(edited) for _ in some])
        order = torch.tensor([index for some in edited for index, _ in enumerate(some)])
        seeds = torch.tensor([int(state.random.integers(2**62)) for state in states])  # [n]
        filled, passes = refill(
            self._checkpoint,
            [one.entries for one in every],
            np.stack([one.aim for one in every]),
            combine(seeds[owner], order, number),
            steps=self._settings.fill_steps,
            temperature=self._settings.temperature,
            batch=self._batch,
        )
        out: list[list[Proposal]] = [[] for _ in states]
        for row, one, entries, cost in zip(owner.tolist(), every, filled, passes.tolist(), strict=True):
            out[row].append(replace(one, entries=entries))
            states[row].forward_passes += cost
        return out

    def _forms(self, state: SearchState) -> list[Proposal]:
        """Other ways to write the nearest text; and the beam's texts as the nearest one is written."""
        best = state.best
        if self._variants is None or best is None or not self._settings.forms:
            return []
        found = [one for one in self._variants.untried(state) if state.allows(one.entries)]
        return [
            Proposal(one.entries, state.aim, FORM, best.text, chosen=True, form=one.form)
            for one in found[: self._settings.forms]
        ]

    def _fresh(self, states: Sequence[SearchState], number: int) -> list[list[Proposal]]:
        """Inversions through the refitted maps, every few rounds."""
        if self._fresh_inversions is None or number % self._settings.fresh_every:
            return [[] for _ in states]
        return [
            [Proposal(entries, state.aim, FRESH) for entries in some if state.allows(entries)]
            for state, some in zip(states, self._fresh_inversions.texts(states), strict=True)
        ]

    def _merged(self, state: SearchState) -> list[Proposal]:
        """For each text that came nearer by several edits: those of the last round, with all before them."""
        proposals = [
            Proposal(entries, state.aim, MERGED, parent, chosen=True, form=state.tried[parent].form)
            for parent, some in state.new_gains.items()
            for entries in merges(state.tried[parent].entries, [one.entries for one in some])
            if state.allows(entries)
        ]
        return proposals[: self._settings.merge]

    def _by_gradient(self, states: Sequence[SearchState]) -> list[list[Proposal]]:
        """Substitutions by a white-box encoder's gradient, for texts new in a beam: one call each."""
        out: list[list[Proposal]] = [[] for _ in states]
        if self._substitutions is None:
            return out
        asked: list[tuple[int, Hypothesis]] = []
        for row, state in enumerate(states):
            new = [parent for parent in state.beam if parent.text not in state.gradients_asked]
            new = new[: state.calls_left]
            state.gradients_asked.update(parent.text for parent in new)
            state.calls += len(new)
            asked += [(row, parent) for parent in new]
        if not asked:
            return out
        targets = np.stack([states[row].target for row, _ in asked])
        gradients = self._substitutions.gradients([parent for _, parent in asked], targets)
        for (row, parent), gradient in zip(asked, gradients, strict=True):
            state = states[row]
            if state.likely_words is None:
                state.likely_words = self._substitutions.likely(state.aim)
            found = self._substitutions.best(parent, gradient, state.likely_words, self._settings.gradient)
            out[row] += [
                Proposal(entries, state.aim, "gradient", parent.text, form=parent.form) for entries in found
            ]
        return out

    def _neighbours(self, states: Sequence[SearchState]) -> list[list[Proposal]]:
        """The best-ranked neighbours that are left of one text of each state's beam."""
        if not self._settings.neighbours:
            return [[] for _ in states]
        parents = [state.next_parent() for state in states]
        self._explore(
            [(one, parent) for one, parent in zip(states, parents, strict=True) if parent is not None]
        )
        return [
            []
            if parent is None
            else [
                Proposal(entries, state.aim, NEIGHBOUR, parent.text, chosen=True, form=parent.form)
                for entries in state.take_neighbours(parent, self._settings.neighbours)
            ]
            for state, parent in zip(states, parents, strict=True)
        ]

    def _explore(self, asked: Sequence[tuple[SearchState, Hypothesis]]) -> None:
        """Find the neighbours of texts that have none yet, and more of the others where it is time."""
        new = [(state, parent) for state, parent in asked if parent.text not in state.neighbours.pools]
        self._neighbourhood.look_again(
            [(state, parent) for state, parent in asked if state.neighbours.unread.get(parent.text)]
        )
        again = [(state, parent) for state, parent in asked if state.wants_deeper(parent)]
        for state, parent in again:
            state.neighbours.deepen(parent.text)
        for some, deep in ((new, False), (again, True)):
            aims = [self._beyond(state, parent) for state, parent in some]
            self._neighbourhood.explore(some, np.array(aims, dtype=np.float32), deep=deep)
