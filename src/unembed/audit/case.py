"""What the attackers are given: the rows that the model can write, and what they may know of the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unembed.audit.audit_config import AuditConfig
from unembed.audit.audit_report import SampleSummary
from unembed.audit.calibration import Calibration
from unembed.audit.long_vectors import look_long
from unembed.audit.sampled_store import SampledStore
from unembed.audit.which_encoder import ChosenModel
from unembed.canaries import Canary
from unembed.stores.base import Row
from unembed.text import tokenise

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Target:
    """One row to attack."""

    id: str
    vector: Floats  # [D]
    text: str | None
    canary: Canary | None = None


@dataclass(frozen=True)
class Case:
    """One store, sorted: what is attacked, what is too long for that, what was left out."""

    config: AuditConfig
    chosen: ChosenModel
    calibration: Calibration | None
    targets: tuple[Target, ...]  # the sample's rows, then the canaries
    long: tuple[Row, ...]
    others: tuple[Row, ...]
    summary: SampleSummary

    @property
    def with_texts(self) -> bool:
        return self.summary.with_texts

    @cached_property
    def vectors(self) -> Floats:  # [n, D]
        width = self.chosen.base.dimension
        return np.stack([one.vector for one in self.targets]) if self.targets else np.zeros((0, width), "f4")

    @cached_property
    def usual(self) -> list[int]:
        """The targets that are no canaries."""
        return [number for number, one in enumerate(self.targets) if one.canary is None]

    @cached_property
    def canaries(self) -> list[int]:
        return [number for number, one in enumerate(self.targets) if one.canary is not None]

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """The model's tokens of texts."""
        return tokenise(self.chosen.base.checkpoint.tokenizer, texts)


def make_case(
    sample: SampledStore, chosen: ChosenModel, config: AuditConfig, calibration: Calibration | None
) -> Case:
    """Sort the sampled rows."""
    base = chosen.base
    with_texts = sample.has_texts and chosen.texts_fit
    unit = chosen.inverter is not None and base.checkpoint.config.encoder.normalised
    usable = [_scaled(row, unit) for row, fits in zip(sample.rows, chosen.fits.tolist(), strict=True) if fits]
    dimension = len(usable[0].vector) if usable else 0
    broken = sum(len(row.vector) != dimension or not np.isfinite(row.vector).all() for row in sample.rows)
    without_text = 0
    if with_texts:
        there = [row for row in usable if row.text and row.text.strip()]
        without_text = len(usable) - len(there)
        lengths = [len(ids) for ids in tokenise(base.checkpoint.tokenizer, [row.text or "" for row in there])]
        is_long = [length > base.max_length for length in lengths]
    else:
        there = usable
        is_long = look_long(chosen, [row.vector for row in there], calibration)
    short = [row for row, long in zip(there, is_long, strict=True) if not long]
    targets = [Target(row.id, row.vector, row.text if with_texts else None) for row in short]
    targets += [
        Target(one.row.id, _scaled(one.row, unit).vector, one.row.text, one.canary)
        for one in sample.planted
        if len(one.row.vector) == dimension
    ]
    summary = SampleSummary(
        asked=config.samples,
        drawn=len(sample.rows),
        seed=config.seed,
        with_texts=with_texts,
        short=len(short),
        long=len(there) - len(short),
        long_decided_by="texts" if with_texts else "vectors",
        without_text=without_text,
        unusable=broken,
        other_encoder=len(sample.rows) - len(usable) - broken,
        others=len(sample.others),
    )
    return Case(
        config=config,
        chosen=chosen,
        calibration=calibration,
        targets=tuple(targets),
        long=tuple(row for row, long in zip(there, is_long, strict=True) if long),
        others=tuple(
            _scaled(row, unit)
            for row in sample.others
            if len(row.vector) == dimension and np.isfinite(row.vector).all()
        ),
        summary=summary,
    )


def _scaled(row: Row, unit: bool) -> Row:
    """With a vector of length 1 where the encoder gives such: a store may keep them as whole numbers."""
    norm = float(np.linalg.norm(row.vector)) if unit else 0.0
    return replace(row, vector=row.vector / np.float32(norm)) if norm > 0 else row
