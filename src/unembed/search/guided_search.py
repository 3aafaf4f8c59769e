"""Guided search: propose with the denoiser, judge with the encoder, keep what comes nearer.

It is a beam search. The encoder is a black box: it is only asked for the vectors of texts, and its calls are
the cost. A target starts with the plain inversion's texts. Then, round after round, the best texts so far
are edited, the denoiser fills the edits' masks, the new texts are embedded, and the best stay. All targets
of a batch go through each round together, so that every pass and every call is a full batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.noise import vector_seeds
from unembed.decode.score import score_texts
from unembed.encoders.base import Encoder, WhiteBox
from unembed.errors import UsageError
from unembed.invert_config import InvertConfig
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.model.word_vectors import WordVectors
from unembed.search.base_reading import BaseReading
from unembed.search.candidate_pool import CandidatePool
from unembed.search.candidate_reader import CandidateReader
from unembed.search.edits import Entries
from unembed.search.error_model import GPErrorModel, unit
from unembed.search.form_variants import FORM, FormVariants
from unembed.search.fresh_inversions import FreshInversions
from unembed.search.gradient import Substitutions
from unembed.search.local_map import LocalMap
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.objective import Objective
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.proposer import Proposal, Proposer
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.written_form import Writer

Floats = NDArray[np.float32]

SCORING = 8  # sequences per text by which the denoiser says how likely it is

# Called after every round; returns which states are searched on, or None for all.
Observer = Callable[[Sequence[SearchState]], Sequence[bool] | None]


class _Candidates(NamedTuple):
    """The new texts of one state in a round."""

    proposals: list[Proposal]
    pool: CandidatePool

    def select(self, indices: Sequence[int]) -> _Candidates:
        return _Candidates([self.proposals[index] for index in indices], self.pool.select(indices))


class GuidedSearch:
    """A batch of vectors against one encoder."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        encoder: Encoder,
        settings: GuidedSettings,
        *,
        batch: int = 64,
        seed: int = 0,
        lengths: Sequence[int] | None = None,
        surrogate: Encoder | None = None,
        phrases: Phrases | None = None,
        words: WordVectors | None = None,
        writer: Writer | None = None,
        base: BaseReading | None = None,
        first: InvertConfig | None = None,
        spent: int = 0,
    ) -> None:
        """words: the surrogate's, where somebody has them already.

        base: what an adapter's map is refitted with, and first: how the targets are then decoded again.

        spent: encoder calls that each target has to its account already.
        """
        self.encoder, self.settings = encoder, settings
        self.seed, self.lengths, self.spent = seed, lengths, spent
        self.interrupted = False
        self._base = base
        if base is not None:  # each target has a map of its own in front of the blocks
            checkpoint = checkpoint.reading_standardised()
        self.checkpoint = checkpoint
        by_surrogate = encoder.info.digest != checkpoint.config.encoder.digest
        self._objective = Objective.of(settings, by_surrogate=by_surrogate, trigrams=phrases is not None)
        self._prefilter: SurrogatePrefilter | None = None
        if surrogate is not None and settings.prefilter_ratio > 1:
            self._prefilter = SurrogatePrefilter(surrogate, settings.prefilter_ratio, words)
        self._reader = CandidateReader(checkpoint, self._prefilter, phrases, writer)
        self._proposer = Proposer(
            checkpoint,
            settings,
            Neighbourhood(checkpoint, settings, self._prefilter, phrases, writer),
            _substitutions(checkpoint, encoder) if settings.gradient else None,
            None if writer is None else FormVariants(checkpoint, writer),
            None if base is None or first is None else FreshInversions(checkpoint, first),
            batch=batch,
        )

    def run(
        self, vectors: Floats, starts: Sequence[Sequence[Entries]], observe: Observer | None = None
    ) -> list[SearchState]:
        """Search for the texts of vectors [n, D], each from its own first texts, likeliest first.

        It ends when every target is found or has spent its budget, at the deadline, or at a
        KeyboardInterrupt: the states hold the nearest texts so far whenever that is.
        """
        states = self._begin(vectors)
        began = time.monotonic()
        try:
            first = [
                [Proposal(entries, state.aim, "start") for entries in start]
                for state, start in zip(states, starts, strict=True)
            ]
            self._try(states, first)
            number, active = 0, states
            while active := self._going(active, observe):
                if self.settings.seconds and time.monotonic() - began >= self.settings.seconds:
                    break
                number += 1
                self._try(active, self._proposer.propose(active, number))
        except KeyboardInterrupt:
            self.interrupted = True
        return states

    def _begin(self, vectors: Floats) -> list[SearchState]:
        # A text of fixed length needs room for its end.
        fixed = int(self.checkpoint.vocabulary.fixed_length)
        max_length = self.checkpoint.config.denoiser.max_length - fixed
        seeds = vector_seeds(vectors, self.seed).tolist()  # [n]
        base = self._base
        known = None
        if base is not None and base.known is not None:
            known = unit(base.known.vectors), base.of_texts(base.known.texts)
        return [
            SearchState(
                target,
                np.random.default_rng(seed & (2**63 - 1)),
                self.settings,
                self._objective,
                length=None if self.lengths is None else self.lengths[row],
                max_length=max_length,
                error_model=None if self._prefilter is None else GPErrorModel(target),
                local_map=self._local_map(target, known),
                spent=self.spent,
            )
            for row, (target, seed) in enumerate(zip(unit(vectors), seeds, strict=True))
        ]

    def _local_map(self, target: Floats, known: tuple[Floats, Tensor] | None) -> LocalMap | None:
        if self._base is None:
            return None
        out = LocalMap(target, self._base.by_adapter, self._base.by_regression)
        if known is not None:
            out.learn(*known)
        return out

    def _going(self, states: Sequence[SearchState], observe: Observer | None) -> list[SearchState]:
        wanted = observe(states) if observe is not None else None
        return [
            state
            for row, state in enumerate(states)
            if state.calls_left > 0
            and not state.found
            and state.beam
            and state.idle < self.settings.patience
            and (wanted is None or wanted[row])
        ]

    def _try(self, states: Sequence[SearchState], proposals: Sequence[Sequence[Proposal]]) -> None:
        """Embed what is new of each state's proposals, within its budget, and let it keep the best."""
        candidates = self._read(states, proposals)
        candidates = [self._filter(state, some) for state, some in zip(states, candidates, strict=True)]
        embedded = self._embed(states, candidates)
        self._update(states, candidates, embedded)

    def _read(
        self, states: Sequence[SearchState], proposals: Sequence[Sequence[Proposal]]
    ) -> list[_Candidates]:
        """The texts of the proposals: only new ones, each once."""
        read = self._reader.read(
            states,
            [[one.entries for one in some] for some in proposals],
            [[one.form for one in some] for some in proposals],
        )
        return [
            _Candidates([some[index] for index in new], pool)
            for some, (new, pool) in zip(proposals, read, strict=True)
        ]

    def _filter(self, state: SearchState, candidates: _Candidates) -> _Candidates:
        """What is embedded, within the budget: where a surrogate has seen the texts, one in a few.

        Those that were chosen among many already come first, and all of them stay.
        """
        indices = list(range(len(candidates.proposals)))
        if self._prefilter is not None:
            chosen = [index for index in indices if candidates.proposals[index].chosen]
            others = [index for index in indices if not candidates.proposals[index].chosen]
            if state.best is not None and others:
                best = self._prefilter.keep(state.ranked(candidates.pool.select(others)))
                others = [others[index] for index in best]
            indices = chosen + others
        return candidates.select(indices[: state.calls_left])

    def _embed(
        self, states: Sequence[SearchState], candidates: Sequence[_Candidates]
    ) -> list[list[Hypothesis]]:
        """Call the encoder once for all texts, and learn where the surrogate was wrong."""
        texts = [text for some in candidates for text in some.pool.texts]
        vectors = unit(self.encoder.encode(texts)) if texts else np.zeros((0, 1), np.float32)  # [m, D]
        by_base = self._base.of_texts(texts) if self._base is not None and texts else None  # [m, native_dim]
        out, first = [], 0
        for state, (proposals, pool) in zip(states, candidates, strict=True):
            own = vectors[first : first + len(pool)]  # [k, D]
            if state.local_map is not None and by_base is not None and len(pool):
                state.local_map.learn(own, by_base[first : first + len(pool)])
            first += len(pool)
            if state.error_model is not None and pool.by_surrogate is not None and len(pool):
                # The surrogate reads all forms of a text alike: the usual one is the one to learn from.
                usual = [row for row, one in enumerate(proposals) if one.made_by != FORM]
                if usual:
                    state.error_model.learn(pool.by_surrogate[usual], own[usual])
            cosines = (own @ state.target).tolist() if len(pool) else []
            out.append(
                [
                    Hypothesis(
                        one.entries,
                        text,
                        vector,
                        cosine,
                        one.made_by,
                        one.parent,
                        state.calls + number,
                        one.form,
                    )
                    for number, (one, text, vector, cosine) in enumerate(
                        zip(proposals, pool.texts, own, cosines, strict=True), start=1
                    )
                ]
            )
        return out

    def _update(
        self,
        states: Sequence[SearchState],
        candidates: Sequence[_Candidates],
        embedded: Sequence[Sequence[Hypothesis]],
    ) -> None:
        """Let each state take in its texts; those that may enter its beam get the denoiser's scores first."""
        for state, (_, pool) in zip(states, candidates, strict=True):
            if pool.trigram_log_probs is not None:
                log_probs = pool.trigram_log_probs.tolist()
                state.trigram_log_probs.update(zip(pool.texts, log_probs, strict=True))
        contenders = [state.add(some) for state, some in zip(states, embedded, strict=True)]
        if self._objective.denoiser_weight:
            self._score(states, contenders)
        for state, few in zip(states, contenders, strict=True):
            state.choose_beam(few)

    def _score(self, states: Sequence[SearchState], contenders: Sequence[Sequence[Hypothesis]]) -> None:
        """Ask the denoiser how likely these texts are, those of all states together."""
        asked = [(state, one) for state, some in zip(states, contenders, strict=True) for one in some]
        if not asked:
            return
        scores = score_texts(
            self.checkpoint,
            [one.entries for _, one in asked],
            np.stack([state.aim for state, _ in asked]),
            length_known=self.lengths is not None,
            passes=SCORING,
        )
        for (state, one), score in zip(asked, scores, strict=True):
            state.denoiser_scores[one.text] = score
            state.forward_passes += min(len(one.entries), SCORING)


def _substitutions(checkpoint: Checkpoint, encoder: Encoder) -> Substitutions:
    if not isinstance(encoder, WhiteBox):
        raise UsageError(
            f"The encoder '{encoder.info.name}' shows no gradients.",
            hint="Leave out the option gradient.",
        )
    return Substitutions(checkpoint, encoder)
