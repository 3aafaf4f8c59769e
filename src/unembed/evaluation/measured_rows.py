"""From recovered texts to rows: every metric on each of them, beside what the sample is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.evaluation.recovery import Recovered
from unembed.evaluation.rows import Row
from unembed.evaluation.samples import Samples
from unembed.metrics.base import Metric, Pair


def measured_rows(
    samples: Samples,
    indices: Sequence[int],
    variant: str,
    found: Sequence[Recovered],
    metrics: Sequence[Metric],
    also: Mapping[str, NDArray[np.float64]] | None = None,
) -> list[Row]:
    """A row for each of some samples. `also` are further statistics [n, k], by name."""
    pairs = [
        Pair(
            samples.texts[index],
            recovered.text,
            tuple(samples.tokens[index]),
            tuple(recovered.tokens),
            samples.vectors[index],
            samples.languages[index],
        )
        for index, recovered in zip(indices, found, strict=True)
    ]
    statistics = {metric.name: metric.statistics(pairs) for metric in metrics} | dict(also or {})
    return [
        sample_row(
            samples,
            index,
            variant,
            recovered=recovered.text,
            tokens=recovered.tokens,
            score=recovered.score,
            forward_passes=recovered.forward_passes,
            encoder_calls=recovered.encoder_calls,
            seconds=recovered.seconds,
            statistics={name: values[row].tolist() for name, values in statistics.items()},
        )
        for row, (index, recovered) in enumerate(zip(indices, found, strict=True))
    ]


def sample_row(samples: Samples, index: int, variant: str, **measured: Any) -> Row:
    """What was measured on one sample, beside what the sample is."""
    return Row(
        variant=variant,
        sample=int(samples.numbers[index]),
        language=samples.languages[index],
        length=len(samples.tokens[index]),
        target=samples.texts[index],
        **measured,
    )
