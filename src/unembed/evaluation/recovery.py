"""Vectors in, recovered texts out: the one file of an evaluation that calls the inversion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.decode.invert_batch import Settings
from unembed.decode.registry import DEFAULT, make_decoder
from unembed.decode.result import Inversion
from unembed.encoders.base import Encoder
from unembed.inverter import Inverter
from unembed.metrics.cosine import cosines
from unembed.search.search_state import SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.window import rank, search_window

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Recovered:
    """What came back for one sample."""

    text: str
    tokens: list[int]
    score: float | None = None
    forward_passes: int | None = None
    seconds: float | None = None
    encoder_calls: int | None = None  # where an encoder was at hand
    cosine: float | None = None  # to the vector, by that encoder


@dataclass(frozen=True)
class Recovery:
    """A model and how to decode with it; with a guide, an encoder that a search may call."""

    inverter: Inverter
    strategy: str = DEFAULT
    steps: int | None = None
    seed: int = 0
    batch: int = 64
    options: dict[str, Any] = field(default_factory=dict)  # the strategy's own
    guide: Encoder | None = None
    guide_name: str | None = None  # how the guide was asked for, if it was

    def texts(self, vectors: Floats, lengths: Sequence[int] | None) -> list[Recovered]:
        """The texts of the vectors [n, D], without an encoder."""
        return self._invert(vectors, lengths, self.strategy, self.options)

    def texts_within(
        self, vectors: Floats, lengths: Sequence[int] | None, budgets: Sequence[int | None]
    ) -> list[list[Recovered]]:
        """For each budget of encoder calls (None: the strategy's own) the texts of the vectors [n, D].

        What a search finds within few calls is the beginning of what it finds within many: only the
        largest budget is run, and the others are read off it.
        """
        calls = [GuidedSettings().max_encoder_calls if budget is None else budget for budget in budgets]
        began = time.perf_counter()
        found, states = self._search(vectors, lengths, max(calls)) if any(calls) else ([], [])
        seconds = (time.perf_counter() - began) / len(vectors)
        out = []
        for budget in calls:
            if budget == 0:
                out.append(self._without_calls(vectors, lengths))
            elif budget == max(calls):
                out.append([_recovered(one, seconds) for one in found])
            else:
                out.append([self._cut(*one, budget) for one in zip(vectors, found, states, strict=True)])
        return out

    def _invert(
        self, vectors: Floats, lengths: Sequence[int] | None, strategy: str, options: dict[str, Any]
    ) -> list[Recovered]:
        began = time.perf_counter()
        found = self.inverter.invert(
            vectors,
            strategy=strategy,
            steps=self.steps,
            seed=self.seed,
            lengths=lengths,
            batch=self.batch,
            check=False,  # noise is meant to look strange, and the data's encoder was checked
            **options,
        )
        seconds = (time.perf_counter() - began) / len(vectors)
        return [replace(_recovered(one, seconds), encoder_calls=None, cosine=None) for one in found]

    def _search(
        self, vectors: Floats, lengths: Sequence[int] | None, calls: int
    ) -> tuple[list[Inversion], list[SearchState]]:
        """The texts that a guided search finds, and the states of the searches at their end."""
        assert self.guide is not None
        states: list[SearchState] = []

        def watch(seen: Sequence[SearchState]) -> None:
            if not states:  # all of them, before the first round
                states.extend(seen)

        search = self.inverter.search(
            GuidedSettings(max_encoder_calls=calls, **self.options),
            self.guide_name or self.guide,
            observe=watch,
        )
        settings = Settings(make_decoder(), self.steps, seed=self.seed, batch=self.batch)
        known = None if lengths is None else torch.tensor(lengths)
        found = search_window(self.inverter.checkpoint, vectors, known, settings, search)
        if search.interrupted:  # it returns what it has, and that is not what is measured here
            raise KeyboardInterrupt
        return found, states

    def _without_calls(self, vectors: Floats, lengths: Sequence[int] | None) -> list[Recovered]:
        """The plain inversion, with the guide's cosine: to measure, not to find."""
        assert self.guide is not None
        found = self._invert(vectors, lengths, DEFAULT, {})
        near = cosines(vectors, self.guide.encode([one.text for one in found])).tolist()
        return [replace(one, encoder_calls=0, cosine=cosine) for one, cosine in zip(found, near, strict=True)]

    def _cut(self, vector: Floats, whole: Inversion, state: SearchState, budget: int) -> Recovered:
        """What the search would have returned if it had ended after `budget` calls."""
        if state.calls <= budget:
            return _recovered(whole, None)
        cut = replace(state, tried={text: one for text, one in state.tried.items() if one.call <= budget})
        [best], [score] = rank(self.inverter.checkpoint, vector, cut, 1, length_known=whole.length_known)
        tokens = list(self.inverter.checkpoint.vocabulary.decode(best.entries))
        return Recovered(best.text, tokens, score, encoder_calls=budget, cosine=best.cosine)


def _recovered(found: Inversion, seconds: float | None) -> Recovered:
    return Recovered(
        found.text,
        list(found.tokens),
        found.score,
        found.forward_passes,
        seconds,
        found.encoder_calls,
        found.cosine,
    )
