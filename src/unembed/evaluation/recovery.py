"""Vectors in, recovered texts out: the one file of an evaluation that calls the inversion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.decode.result import Inversion
from unembed.encoders.base import Encoder
from unembed.invert_config import DEFAULT_STRATEGY, InvertConfig, PrecisionChoice, Quality, Ranking
from unembed.inverter import Inverter
from unembed.metrics.cosine import cosines
from unembed.search.settings import GuidedSettings

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Recovered:
    """What came back for one sample."""

    text: str
    tokens: list[int]
    score: float | None = None
    forward_passes: int | None = None
    seconds: float | None = None
    encoder_calls: int | None = None  # of a guided search
    cosine: float | None = None  # to the vector, by that encoder


@dataclass(frozen=True)
class Recovery:
    """A model and how to decode with it; with a guide, an encoder that a search may call."""

    inverter: Inverter
    strategy: str = DEFAULT_STRATEGY
    steps: int | None = None
    num_lengths: int | None = None
    quality: Quality = "balanced"
    ranking: Ranking = "auto"
    precision: PrecisionChoice = "auto"
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

        A search with few calls is the first part of one with many: only the largest budget is run, and the
        others are read off it.
        """
        calls = [GuidedSettings().max_encoder_calls if budget is None else budget for budget in budgets]
        most = max(calls)
        between = tuple(sorted({budget for budget in calls if 0 < budget < most}))
        began = time.perf_counter()
        found = self._search(vectors, lengths, most, between) if most else []
        seconds = (time.perf_counter() - began) / len(vectors)
        out = []
        for budget in calls:
            if budget == 0:
                out.append(self._without_calls(vectors, lengths))
            elif budget == most:
                out.append([_recovered(one, seconds) for one in found])
            else:
                out.append([_cut(one, between.index(budget)) for one in found])
        return out

    def _invert(
        self, vectors: Floats, lengths: Sequence[int] | None, strategy: str, options: dict[str, Any]
    ) -> list[Recovered]:
        began = time.perf_counter()
        found = self.inverter.invert(vectors, self._config(lengths, strategy=strategy, options=options))
        seconds = (time.perf_counter() - began) / len(vectors)
        return [replace(_recovered(one, seconds), encoder_calls=None, cosine=None) for one in found]

    def _search(
        self, vectors: Floats, lengths: Sequence[int] | None, calls: int, between: tuple[int, ...]
    ) -> list[Inversion]:
        """The texts that a guided search finds, and what it had after fewer calls."""
        options = {
            **self.options,
            "max_encoder_calls": calls,
            "report_at": between,
            "keep_on_interrupt": False,  # half a search is not what is measured here
        }
        config = self._config(lengths, strategy="guided", options=options)
        return list(self.inverter.stream(vectors, config, encoder=self.guide_name or self.guide))

    def _config(self, lengths: Sequence[int] | None, **fields: Any) -> InvertConfig:
        return InvertConfig(
            quality=self.quality,
            steps=self.steps,
            num_lengths=self.num_lengths,
            ranking=self.ranking,
            precision=self.precision,
            seed=self.seed,
            batch_size=self.batch,
            lengths=None if lengths is None else tuple(lengths),
            check=False,  # noise is meant to look strange, and the data's encoder was checked
            **fields,
        )

    def _without_calls(self, vectors: Floats, lengths: Sequence[int] | None) -> list[Recovered]:
        """The plain inversion, with the guide's cosine: to measure, not to find."""
        assert self.guide is not None
        found = self._invert(vectors, lengths, DEFAULT_STRATEGY, {})
        near = cosines(vectors, self.guide.encode([one.text for one in found])).tolist()
        return [replace(one, encoder_calls=0, cosine=cosine) for one, cosine in zip(found, near, strict=True)]


def _cut(found: Inversion, index: int) -> Recovered:
    """What the search would have returned if it had ended after fewer calls."""
    if not found.at_calls or found.encoder_calls <= found.at_calls[index].calls:
        return _recovered(found, None)
    then = found.at_calls[index]
    return Recovered(then.text, list(then.tokens), then.score, encoder_calls=then.calls, cosine=then.cosine)


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
