"""The training texts of some sources, each once: what is counted beside a model's training.

Counting needs no vectors, so any text may be read, not only what was prepared. Texts of the held-out sides
are left out, as they are from training: a side is decided by the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from unembed.data.collect import clean
from unembed.data.keyset import KeySet
from unembed.data.normalise import text_keys
from unembed.data.sources import parse_source
from unembed.data.split import SPLITS, split_labels
from unembed.errors import UsageError
from unembed.progress import progress_bar

_BATCH = 8192


class SourcesConfig(BaseModel):
    """Which texts are read, and which of them are held out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: tuple[str, ...] = Field(
        default=(), description="Texts: [LANG=]PATH or [LANG=]hub:DATASET[:CONFIG[:SPLIT]]. Repeat for more."
    )
    field: str = Field(
        default="text", description="Field of a JSON line, or column of a Parquet file or hub dataset."
    )
    validation_share: float = Field(
        default=0.01, ge=0, lt=1, description="Share held out for validation, as in 'unembed prepare'."
    )
    test_share: float = Field(
        default=0.01, ge=0, lt=1, description="Share held out for testing, as in 'unembed prepare'."
    )


class SourceTexts:
    """Reads the sources once; afterwards it knows how many texts were used and how many were not."""

    def __init__(self, config: SourcesConfig, *, quiet: bool = True) -> None:
        if not config.source:
            raise UsageError("There is no source.", hint="Give at least one: --source en=corpus.txt.gz")
        self._config, self._quiet = config, quiet
        self._sources = [parse_source(spec, field=config.field) for spec in config.source]
        self.used = self.held_out = self.repeated = 0

    def batches(self) -> Iterator[list[str]]:
        """The training texts, some thousand at a time."""
        config, seen = self._config, KeySet()
        with progress_bar("Counting", total=None, unit="texts", quiet=self._quiet) as bar:
            for source in self._sources:
                bar.describe(f"Counting {source.label}")
                every = (text for raw in source.texts() if (text := clean(raw)))
                while batch := list(islice(every, _BATCH)):
                    keys = text_keys(batch)
                    new = seen.add(keys)
                    sides = split_labels(
                        keys, validation_share=config.validation_share, test_share=config.test_share
                    )
                    train = sides == SPLITS.index("train")  # [N]
                    fresh = [batch[row] for row in np.nonzero(new & train)[0].tolist()]
                    yield fresh
                    self.used, self.repeated = self.used + len(fresh), self.repeated + int((~new).sum())
                    self.held_out += int((new & ~train).sum())
                    bar.advance(len(batch))
