"""Guided inversion: propose with the denoiser, judge with the encoder, keep what comes nearer.

The encoder is a black box here: it is only asked for the vectors of texts, and its calls are the cost.
A target begins with the plain inversion's texts. Then, round after round, the nearest texts so far are
edited, the edits' masks are filled by the denoiser, the new texts are embedded, and the nearest stay.
All targets of a window go through each round together, so that every pass and every call is a full batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.decode.noise import combine, vector_seeds
from unembed.decode.score import score_texts
from unembed.encoders.base import Encoder, WhiteBox
from unembed.errors import UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.model.phrases import Phrases
from unembed.search.edits import EDITS, Entries
from unembed.search.error_model import Beliefs, Scout, unit
from unembed.search.gradient import Substitutions
from unembed.search.masked_texts import at, read_texts, said
from unembed.search.merge import MERGED, merges
from unembed.search.neighbourhood import Survey
from unembed.search.refill import refill
from unembed.search.search_state import Hunt, Hypothesis, Leftovers
from unembed.search.settings import GuidedSettings
from unembed.search.single_edits import SWEPT

Floats = NDArray[np.float32]

# How likely a draft is edited once more: at first, more for each round that brought nothing nearer, at most.
ONCE_AGAIN, STALE, MOST_AGAIN = 0.1, 0.01, 0.3
SCORING = 8  # sequences a text by which the model says how likely it is


@dataclass(frozen=True)
class _Draft:
    """An edited text on its way to the encoder."""

    entries: Entries
    aim: Floats  # [D] the vector that the denoiser is told
    made_by: str
    parent: str | None = None  # the text that was edited
    chosen: bool = False  # among many already: no scout need look at it again


# Told after every round; returns which hunts go on, or None for all.
Observer = Callable[[Sequence[Hunt]], Sequence[bool] | None]


class GuidedSearch:
    """One window of vectors against one encoder."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        encoder: Encoder,
        settings: GuidedSettings,
        *,
        batch: int = 64,
        seed: int = 0,
        lengths: Sequence[int] | None = None,
        scout: Encoder | None = None,
        phrases: Phrases | None = None,
    ) -> None:
        self.checkpoint, self.encoder, self.settings = checkpoint, encoder, settings
        self._phrases = phrases
        self.batch, self.seed, self.lengths = batch, seed, lengths
        self.interrupted = False
        self._imitated = encoder.info.digest != checkpoint.config.encoder.digest
        self._phrasing = settings.trigram_weight_by_surrogate if self._imitated else settings.trigram_weight
        self._fluency = settings.denoiser_weight_by_surrogate if self._imitated else settings.denoiser_weight
        # Phrases tell nonsense, without a pass. Where cosines are uncertain, the denoiser's word counts too.
        self._scores = bool(self._fluency) and (phrases is None or self._imitated)
        self._scout = None if scout is None or settings.prefilter_ratio == 1 else Scout(scout)
        self._substitutions: Substitutions | None = None
        if settings.gradient:
            if not isinstance(encoder, WhiteBox):
                raise UsageError(
                    f"The encoder '{encoder.info.name}' shows no gradients.",
                    hint="Leave out the option gradient.",
                )
            self._substitutions = Substitutions(checkpoint, encoder)
        self._survey = Survey(checkpoint, settings, self._scout, phrases) if settings.neighbours else None
        names = list(EDITS)
        weights = np.array([EDITS[name][0] for name in names])
        self._edits, self._shares = names, weights / weights.sum()

    def run(
        self, vectors: Floats, starts: Sequence[Sequence[Entries]], observe: Observer | None = None
    ) -> list[Hunt]:
        """Search for the texts of vectors [n, D], each from its own first texts, likeliest first.

        It ends when every target is found or has spent its budget, at the deadline, or at a
        KeyboardInterrupt: the hunts hold the nearest texts so far whenever that is.
        """
        settings, config = self.settings, self.checkpoint.config.denoiser
        targets = unit(vectors)
        seeds = vector_seeds(vectors, self.seed)  # [n]
        hunts = [
            Hunt(
                target,
                np.random.default_rng(seed & (2**63 - 1)),
                budget=settings.max_encoder_calls,
                width=settings.beam_width,
                near_enough=settings.target_cosine,
                spread=settings.diversify_after,
                phrasing=self._phrasing,
                fluency=self._fluency,
                scored=self._scores,
                imitated=self._imitated,
                length=None if self.lengths is None else self.lengths[place],
                # A text of fixed length needs room for its end.
                longest=config.max_length - int(self.checkpoint.vocabulary.fixed_length),
                beliefs=None if self._scout is None else Beliefs(target),
            )
            for place, (target, seed) in enumerate(zip(targets, seeds.tolist(), strict=True))
        ]
        began = time.monotonic()
        try:
            drafts = [
                [_Draft(entries, hunt.target, "start") for entries in start]
                for hunt, start in zip(hunts, starts, strict=True)
            ]
            self._embed(hunts, drafts)
            number, active = 0, hunts
            while active := self._going(active, observe):
                if settings.seconds and time.monotonic() - began >= settings.seconds:
                    break
                number += 1
                self._embed(active, self._propose(active, number))
        except KeyboardInterrupt:
            self.interrupted = True
        return hunts

    def _going(self, hunts: Sequence[Hunt], observe: Observer | None) -> list[Hunt]:
        wanted = observe(hunts) if observe is not None else None
        return [
            hunt
            for place, hunt in enumerate(hunts)
            if hunt.left > 0
            and not hunt.found
            and hunt.beam
            and hunt.idle < self.settings.patience
            and (wanted is None or wanted[place])
        ]

    def _propose(self, hunts: Sequence[Hunt], number: int) -> list[list[_Draft]]:
        """Edited texts with their masks filled, for each hunt."""
        drafts: list[_Draft] = []
        owner: list[int] = []
        for place, hunt in enumerate(hunts):
            for parent in hunt.beam:
                for _ in range(self.settings.proposals):
                    draft = self._edit(hunt, parent)
                    if hunt.allows(draft.entries):
                        drafts.append(draft)
                        owner.append(place)
        out = [self._merge(hunt) for hunt in hunts]
        for some, pulled, swept in zip(out, self._substitute(hunts), self._neighbours(hunts), strict=True):
            some += pulled + swept
        if not drafts:  # every edit left the bounds of what may be written
            return out
        seeds = torch.tensor([int(hunt.random.integers(2**62)) for hunt in hunts])  # [n]
        order = torch.tensor(_numbers_within(owner))
        filled, passes = refill(
            self.checkpoint,
            [draft.entries for draft in drafts],
            np.stack([draft.aim for draft in drafts]),
            combine(seeds[torch.tensor(owner)], order, number),
            steps=self.settings.steps,
            temperature=self.settings.temperature,
            batch=self.batch,
        )
        for place, draft, entries, cost in zip(owner, drafts, filled, passes.tolist(), strict=True):
            out[place].append(replace(draft, entries=entries))
            hunts[place].forward_passes += cost
        return out

    def _merge(self, hunt: Hunt) -> list[_Draft]:
        """What the last round's nearer texts make together with all before them, those of each parent."""
        drafts = [
            _Draft(entries, hunt.target, MERGED, parent, chosen=True)
            for parent, some in hunt.nearer.items()
            for entries in merges(hunt.tried[parent].entries, [one.entries for one in some])
            if hunt.allows(entries)
        ]
        return drafts[: self.settings.merge]

    def _substitute(self, hunts: Sequence[Hunt]) -> list[list[_Draft]]:
        """What a white-box encoder's gradient proposes for texts that are new in a beam: one call each."""
        out: list[list[_Draft]] = [[] for _ in hunts]
        if self._substitutions is None:
            return out
        asked: list[tuple[int, Hypothesis]] = []
        for place, hunt in enumerate(hunts):
            new = [parent for parent in hunt.beam if parent.text not in hunt.pulled][: hunt.left]
            hunt.pulled.update(parent.text for parent in new)
            hunt.calls += len(new)
            asked += [(place, parent) for parent in new]
        if not asked:
            return out
        targets = np.stack([hunts[place].target for place, _ in asked])
        pulls = self._substitutions.pull([parent for _, parent in asked], targets)
        for (place, parent), pull in zip(asked, pulls, strict=True):
            hunt = hunts[place]
            if hunt.likely is None:
                hunt.likely = self._substitutions.likely(hunt.target)
            drafts = self._substitutions.drafts(parent, pull, hunt.likely, self.settings.gradient)
            out[place] += [_Draft(entries, hunt.target, "gradient", parent.text) for entries in drafts]
        return out

    def _neighbours(self, hunts: Sequence[Hunt]) -> list[list[_Draft]]:
        """Of the texts one word away from one of each hunt's beam, the most promising that are left."""
        out: list[list[_Draft]] = [[] for _ in hunts]
        if self._survey is None:
            return out
        parents = [hunt.next_to_sweep() for hunt in hunts]
        chosen = [(hunt, parent) for hunt, parent in zip(hunts, parents, strict=True) if parent is not None]
        new = [(hunt, parent) for hunt, parent in chosen if parent.text not in hunt.neighbours]
        again = [(hunt, parent) for hunt, parent in chosen if hunt.wants_deeper(parent)]
        for hunt, known in again:
            hunt.deepen(known)
        for some, deep in ((new, False), (again, True)):
            aims = [self._beyond(hunt, parent) for hunt, parent in some]
            self._survey.around(some, np.array(aims, dtype=np.float32), deep=deep)
        for drafts, hunt, parent in zip(out, hunts, parents, strict=True):
            if parent is not None:
                drafts += [
                    _Draft(entries, hunt.target, SWEPT, parent.text, chosen=True)
                    for entries in hunt.sweep(parent, self.settings.neighbours)
                ]
        return out

    def _edit(self, hunt: Hunt, parent: Hypothesis) -> _Draft:
        name, entries = "", parent.entries
        # One edit, often another on top of it: the longer nothing came nearer, the more.
        again = min(MOST_AGAIN, ONCE_AGAIN + STALE * hunt.stale)
        while not name or hunt.random.random() < again:
            kind = self._edits[int(hunt.random.choice(len(self._edits), p=self._shares))]
            name = kind if not name else "several"
            entries = EDITS[kind][1](entries, hunt.random)
        if self.settings.overshoot and hunt.random.random() < 0.5:
            return _Draft(entries, self._beyond(hunt, parent), f"{name}+", parent.text)
        return _Draft(entries, hunt.target, name, parent.text)

    def _beyond(self, hunt: Hunt, parent: Hypothesis) -> Floats:
        """Beyond the target, away from where the text is now: what it lacks is said twice.  # [D]"""
        aim = hunt.target + self.settings.overshoot * (hunt.target - parent.vector)
        out: Floats = (aim / np.linalg.norm(aim)).astype(np.float32)
        return out

    def _embed(self, hunts: Sequence[Hunt], drafts: Sequence[Sequence[_Draft]]) -> None:
        """Embed what is new of each hunt's drafts, within its budget, and let it keep the nearest."""
        texts = read_texts(self.checkpoint, [[draft.entries for draft in some] for some in drafts])
        chosen = [hunt.fresh(some) for hunt, some in zip(hunts, texts, strict=True)]  # places of each
        looks = [np.zeros((0, 1), np.float32) for _ in hunts]  # [k, D] each
        if self._scout is not None:
            looks = self._scout.look([at(some, places) for some, places in zip(texts, chosen, strict=True)])
            kept = [
                self._promising(hunt, at(mine, places), look)
                for hunt, mine, places, look in zip(hunts, drafts, chosen, looks, strict=True)
            ]
            looks = [look[some] for look, some in zip(looks, kept, strict=True)]
            chosen = [at(places, some) for places, some in zip(chosen, kept, strict=True)]
        chosen = [places[: hunt.left] for hunt, places in zip(hunts, chosen, strict=True)]
        wanted = [text for some, places in zip(texts, chosen, strict=True) for text in at(some, places)]
        vectors = unit(self.encoder.encode(wanted)) if wanted else np.zeros((0, 1), np.float32)  # [m, D]
        first = 0
        new: list[list[Hypothesis]] = []
        for hunt, mine, some, places, look in zip(hunts, drafts, texts, chosen, looks, strict=True):
            own = vectors[first : first + len(places)]  # [k, D]
            first += len(places)
            if hunt.beliefs is not None and places:
                hunt.beliefs.learn(look[: len(places)], own)
            cosines = (own @ hunt.target).tolist() if places else []
            new.append(
                [
                    Hypothesis(
                        mine[place].entries,
                        some[place],
                        vector,
                        cosine,
                        mine[place].made_by,
                        mine[place].parent,
                        hunt.calls + number,
                    )
                    for number, (place, vector, cosine) in enumerate(
                        zip(places, own, cosines, strict=True), start=1
                    )
                ]
            )
        if self._phrases is not None:
            for hunt, found in zip(hunts, new, strict=True):
                scores = said(self._phrases, [one.entries for one in found])
                hunt.said.update(zip([one.text for one in found], scores.tolist(), strict=True))
        promising = [hunt.add(some) for hunt, some in zip(hunts, new, strict=True)]
        if self._scores:
            self._score(hunts, promising)
        for hunt, few in zip(hunts, promising, strict=True):
            hunt.settle(few)

    def _score(self, hunts: Sequence[Hunt], promising: Sequence[Sequence[Hypothesis]]) -> None:
        """Ask the model how likely these texts are, those of all hunts together."""
        asked = [(hunt, one) for hunt, some in zip(hunts, promising, strict=True) for one in some]
        if not asked:
            return
        scores = score_texts(
            self.checkpoint,
            [one.entries for _, one in asked],
            np.stack([hunt.target for hunt, _ in asked]),
            length_known=self.lengths is not None,
            passes=SCORING,
        )
        for (hunt, one), score in zip(asked, scores, strict=True):
            hunt.scores[one.text] = score
            hunt.forward_passes += min(len(one.entries), SCORING)

    def _promising(self, hunt: Hunt, drafts: Sequence[_Draft], look: Floats) -> list[int]:
        """Of new drafts that the scout saw as `look` [k, D], places of those to embed: one in `scout`.

        Those that were chosen among many already come first.
        """
        sure = [place for place, draft in enumerate(drafts) if draft.chosen]
        others = [place for place, draft in enumerate(drafts) if not draft.chosen]
        if hunt.best is None or hunt.beliefs is None or not others:
            return sure + others
        entries = [drafts[place].entries for place in others]
        left = Leftovers([""] * len(others), entries, look[others])
        if self._phrases is not None:
            left = replace(left, said=said(self._phrases, entries))
        count = -(-len(others) // self.settings.prefilter_ratio)
        return sure + sorted(others[place] for place in hunt.ranked(left)[:count])


def _numbers_within(owner: Sequence[int]) -> list[int]:
    """0, 1, 2, ... within each owner's stretch."""
    out: list[int] = []
    for place, own in enumerate(owner):
        out.append(out[-1] + 1 if place and owner[place - 1] == own else 0)
    return out
