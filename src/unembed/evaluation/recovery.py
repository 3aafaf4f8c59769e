"""Attacks with an encoder at hand: one search, read at several numbers of encoder calls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.invert_batch import Settings, invert_batch
from unembed.decode.registry import make_decoder
from unembed.decode.result import Inversion
from unembed.encoders.base import Encoder
from unembed.inverter import Inverter
from unembed.metrics.cosine import cosines
from unembed.metrics.exact import exact_match
from unembed.search.search_state import SearchState
from unembed.search.strategies import Guided
from unembed.search.window import TIE, rank, search_window

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


@dataclass
class GuidedAttack:
    """A model with an encoder beside it. What it finds within few calls is the beginning of what it finds
    within many, so that the largest budget is the only one that is run."""

    inverter: Inverter
    guide: Encoder
    named: str | None  # how it was asked for, if it was
    steps: int | None
    seed: int
    batch: int
    options: dict[str, Any] = field(default_factory=dict)  # of the search
    _hunts: list[SearchState] = field(default_factory=list)

    def run(
        self, vectors: Floats, lengths: Sequence[int] | None, budgets: Sequence[int | None]
    ) -> list[list[Recovered]]:
        """For each budget (None is the strategy's own) the texts of the vectors [n, D]."""
        known = None if lengths is None else torch.tensor(lengths)
        calls = [Guided().max_encoder_calls if budget is None else budget for budget in budgets]
        began = time.perf_counter()
        found = self._search(vectors, known, max(calls))
        seconds = (time.perf_counter() - began) / len(vectors)
        out = []
        for budget in calls:
            if budget == 0:
                out.append(self._plain(vectors, known))
            elif budget == max(calls):
                out.append([_whole(one, seconds) for one in found])
            else:
                out.append([self._cut(*one, budget) for one in zip(vectors, found, self._hunts, strict=True)])
        return out

    def _settings(self) -> Settings:
        return Settings(make_decoder(), self.steps, seed=self.seed, batch=self.batch)

    def _search(self, vectors: Floats, known: Tensor | None, calls: int) -> list[Inversion]:
        self._hunts = []
        search = self.inverter.search(
            Guided(max_encoder_calls=calls, **self.options), self.named or self.guide, observe=self._watch
        )
        found = search_window(self.inverter.checkpoint, vectors, known, self._settings(), search)
        if search.interrupted:  # it gives what it has, and that is not what is measured here
            raise KeyboardInterrupt
        return found

    def _watch(self, hunts: Sequence[SearchState]) -> None:
        if not self._hunts:  # all of them, before the first round
            self._hunts = list(hunts)

    def _plain(self, vectors: Floats, known: Tensor | None) -> list[Recovered]:
        """Without any call: the inversion as it is."""
        began = time.perf_counter()
        found = invert_batch(self.inverter.checkpoint, vectors, known, self._settings())
        seconds = (time.perf_counter() - began) / len(vectors)
        near = cosines(vectors, self.guide.encode([one.text for one in found]))  # to measure, not to find
        return [
            replace(_whole(one, seconds), cosine=cosine)
            for one, cosine in zip(found, near.tolist(), strict=True)
        ]

    def _cut(self, vector: Floats, whole: Inversion, hunt: SearchState, budget: int) -> Recovered:
        """What the search would have given had it ended after so many calls."""
        if hunt.calls <= budget:
            return _whole(whole, None)
        cut = replace(hunt, tried={text: one for text, one in hunt.tried.items() if one.call <= budget})
        [best], [score] = rank(self.inverter.checkpoint, vector, cut, 1, length_known=whole.length_known)
        tokens = list(self.inverter.checkpoint.vocabulary.decode(best.entries))
        return Recovered(best.text, tokens, score, encoder_calls=budget, cosine=best.cosine)


def _whole(found: Inversion, seconds: float | None) -> Recovered:
    return Recovered(
        found.text,
        list(found.tokens),
        found.score,
        found.forward_passes,
        seconds,
        found.encoder_calls,
        found.cosine,
    )


def ambiguous(
    guide: Encoder, vectors: Floats, originals: Sequence[str], found: Sequence[Recovered]
) -> list[bool]:
    """Of each text whether it is not the original and yet as near to the vector: no encoder tells which."""
    own = cosines(vectors, guide.encode(originals)).tolist()  # [n]
    return [
        one.cosine is not None and one.cosine >= near - TIE and not exact_match(original, one.text)
        for one, near, original in zip(found, own, originals, strict=True)
    ]
