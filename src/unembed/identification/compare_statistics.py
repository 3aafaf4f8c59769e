"""What the numbers alone say: which known encoder each vector could be of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unembed.identification.encoder_statistics import EncoderStatistics
from unembed.identification.vector_fit import VectorFit, vector_fit
from unembed.vectors.arrays import Floats

MOST = 0.7  # of the vectors must fit for an encoder to be named; texts of an unusual kind fit less well
SECOND = 0.05  # of the vectors that fit another encoder make two; of those that fit none, twice as many
LEAST_ROWS = 3  # and this many, whatever the share


@dataclass(frozen=True)
class StatisticalFit:
    """The vectors, by the encoder whose statistics each fits best."""

    rows: tuple[str | None, ...]  # by row: an encoder's name; None: no encoder's
    foreign: float  # share of the vectors that are as far from every encoder as random directions
    scores: dict[str, float]  # by encoder: the median log-likelihood ratio, per number
    truncated_from: dict[str, int | None]

    @property
    def shares(self) -> dict[str, float]:
        """By encoder, the share of vectors that fit it; the largest first."""
        counts = Counter(name for name in self.rows if name is not None)
        return {name: count / len(self.rows) for name, count in counts.most_common()}

    @property
    def leading(self) -> str | None:
        """The one encoder that the vectors fit, if they do."""
        shares = self.shares
        for name, share in shares.items():
            return name if share >= MOST and not self.mixed else None
        return None

    @property
    def mixed(self) -> bool:
        """Whether the vectors are of two kinds: of two encoders, or of one and of something else."""
        present = [share for share in self.shares.values() if self._counts(share, SECOND)]
        return len(present) > 1 or (len(present) == 1 and self._counts(self.foreign, 2 * SECOND))

    def _counts(self, share: float, least: float) -> bool:
        return share >= least and round(share * len(self.rows)) >= LEAST_ROWS


def compare_statistics(unit: Floats, statistics: Sequence[EncoderStatistics]) -> StatisticalFit:
    """Compare vectors [n, D] of length 1 with every known encoder that makes at least D numbers."""
    fits = [fit for one in statistics if (fit := vector_fit(one, unit.shape[1])) is not None and fit.tells]
    if not fits:
        return StatisticalFit((None,) * len(unit), 1.0, {}, {})
    scores = np.stack([fit.scores(unit) for fit in fits])  # [F, n]
    least = np.array([[fit.least] for fit in fits])
    foreign = np.array([[fit.foreign] for fit in fits])
    best = np.where(scores > least, scores, -np.inf).argmax(axis=0)  # [n]
    fitting = np.asarray((scores > least).any(axis=0))  # [n]
    return StatisticalFit(
        rows=tuple(
            _base(fits[at]) if fine else None
            for at, fine in zip(best.tolist(), fitting.tolist(), strict=True)
        ),
        foreign=float((scores < foreign).all(axis=0).mean()),
        scores={fit.name: float(np.median(own)) for fit, own in zip(fits, scores, strict=True)},
        truncated_from={_base(fit): fit.truncated_from for fit in fits},
    )


def _base(fit: VectorFit) -> str:
    """The encoder without its prompt: prompts differ too little to be told apart by numbers alone."""
    return fit.name.partition("#")[0]
