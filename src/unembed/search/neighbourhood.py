"""A survey: what lies around a text, for its hunt to choose from in the rounds to come.

A sweep gives the texts that are one likely word away. Where a scout can judge them, there are more: words
that the text lacks, words that stand elsewhere, and the most promising changes two by two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unembed.model.checkpoint import Checkpoint
from unembed.model.phrases import Phrases
from unembed.search.edits import Entries, moves
from unembed.search.error_model import Scout
from unembed.search.masked_texts import at, read_texts, said
from unembed.search.merge import pairs
from unembed.search.search_state import Hunt, Hypothesis, Leftovers
from unembed.search.settings import GuidedSettings
from unembed.search.single_edits import Neighbour, Sweep

LOOKED_AT = 150  # of a sweep's texts, by their words' probability
DEEPER = 4  # times as many words are looked at where that has led nowhere


class Survey:
    """What a search knows about texts before it embeds them."""

    def __init__(
        self, checkpoint: Checkpoint, settings: GuidedSettings, scout: Scout | None, phrases: Phrases | None
    ) -> None:
        self._checkpoint, self._settings = checkpoint, settings
        self._scout, self._phrases = scout, phrases

    def around(
        self, asked: Sequence[tuple[Hunt, Hypothesis]], aims: NDArray[np.float32], *, deep: bool = False
    ) -> None:
        """Find what is around these texts, one of each hunt, and let the hunts remember it.

        aims: [n, D], the vectors that the denoiser is told; deep: look at less likely words and at longer
        moves too, of texts that were looked at already.
        """
        if not asked:
            return
        times = DEEPER if deep else 1
        sweep = Sweep(
            self._checkpoint, self._settings.words_per_position * times, self._settings.missing_words * times
        )
        hunts = [hunt for hunt, _ in asked]
        lengths = [hunt.length for hunt in hunts]
        longest = hunts[0].longest or self._checkpoint.config.denoiser.max_length
        found = sweep.around([parent.entries for _, parent in asked], aims, longest=longest, lengths=lengths)
        for hunt, swept in zip(hunts, found, strict=True):
            hunt.forward_passes += swept.passes
        drafts = [
            self._worth_a_look(hunt, parent, one.neighbours, deep=deep)
            for (hunt, parent), one in zip(asked, found, strict=True)
        ]
        left = self._leftovers(hunts, drafts)
        if self._scout is not None and self._settings.pairs:
            paired = [
                self._pairs(hunt, parent, some) for (hunt, parent), some in zip(asked, left, strict=True)
            ]
            more = self._leftovers(hunts, paired)
            left = [one.joined(other) for one, other in zip(left, more, strict=True)]
        for (hunt, parent), some in zip(asked, left, strict=True):
            known = hunt.neighbours.get(parent.text)
            hunt.neighbours[parent.text] = some if known is None else known.joined(some)

    def _leftovers(self, hunts: Sequence[Hunt], drafts: Sequence[Sequence[Entries]]) -> list[Leftovers]:
        """What is new of these drafts of each hunt, with what is known of it."""
        out = []
        for hunt, some, texts in zip(hunts, drafts, read_texts(self._checkpoint, drafts), strict=True):
            fresh = hunt.fresh(texts)
            out.append(Leftovers(at(texts, fresh), at(some, fresh)))
        if self._scout is not None:
            looks = self._scout.look([one.texts for one in out])
            out = [replace(one, scouted=vectors) for one, vectors in zip(out, looks, strict=True)]
        if self._phrases is not None:
            out = [replace(one, said=said(self._phrases, one.entries)) for one in out]
        return out

    def _worth_a_look(
        self, hunt: Hunt, parent: Hypothesis, neighbours: Sequence[Neighbour], *, deep: bool
    ) -> list[Entries]:
        """The likeliest first; then, where a scout can judge them, words that the text lacks and moves."""
        ranked = sorted(neighbours, key=lambda one: -one.log_prob)
        likely = [one.entries for one in ranked if not one.missing][: LOOKED_AT * (DEEPER if deep else 1)]
        if self._scout is None:
            return likely
        lacking = [one.entries for one in ranked if one.missing]
        return [*likely, *lacking, *self._moves(hunt, parent, deep=deep)]

    def _moves(self, hunt: Hunt, parent: Hypothesis, *, deep: bool) -> list[Entries]:
        """Texts in which some words stand elsewhere: those whose phrases are likeliest, or any."""
        # Of two stretches that change places, one is at most half of the text.
        every = moves(parent.entries, len(parent.entries) // 2) if deep else moves(parent.entries)
        count = min(self._settings.moves, len(every))
        if self._phrases is not None:
            order = np.argsort(-said(self._phrases, every), kind="stable")
        else:
            order = hunt.random.permutation(len(every))
        return at(every, order[:count].tolist())

    def _pairs(self, hunt: Hunt, parent: Hypothesis, left: Leftovers) -> list[Entries]:
        """Of a text's most promising neighbours, every two at once."""
        best = at(left.entries, hunt.ranked(left)[: self._settings.pairs])
        return [draft for draft in pairs(parent.entries, best) if hunt.allows(draft)]
