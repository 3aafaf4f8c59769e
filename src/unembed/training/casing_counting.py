"""Counting how words are written: no model and no vectors are needed for it."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from pydantic import Field

from unembed.errors import DataError
from unembed.model.truecasing import Casing
from unembed.training.source_texts import SourcesConfig, SourceTexts


class CasingConfig(SourcesConfig):
    """Which texts, and how often a word must occur."""

    min_count: int = Field(default=5, ge=1, description="Keep words that occur at least N times.")


class CountedCasing(NamedTuple):
    """How words are written, and in how many texts that was counted."""

    casing: Casing
    texts: int
    held_out: int


def count_casing(config: CasingConfig, *, quiet: bool = True) -> CountedCasing:
    """Count how words are written in the sources' training texts, each text once."""
    sources = SourceTexts(config, quiet=quiet)
    casing = Casing.count(chain.from_iterable(sources.batches()), min_count=config.min_count)
    if not sources.used:
        raise DataError("The sources hold no text to count.", hint="Are all of them held out, or empty?")
    return CountedCasing(casing, sources.used, sources.held_out)
