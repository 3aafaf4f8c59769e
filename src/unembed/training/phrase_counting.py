"""Counting phrases: no vectors are needed, so any text may be read, not only what was prepared.

Texts of the held-out sides are left out, as they are from training: a side is decided by the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from unembed.data.collect import clean
from unembed.data.keyset import KeySet
from unembed.data.normalise import text_keys
from unembed.data.sources import parse_source
from unembed.data.split import SPLITS, split_labels
from unembed.errors import DataError, UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.progress import progress_bar
from unembed.text import tokenise

_BATCH = 8192


class PhrasesConfig(BaseModel):
    """Which texts, and how often a pair or triple must occur."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: tuple[str, ...] = Field(
        default=(), description="Texts: [LANG=]PATH or [LANG=]hub:DATASET[:CONFIG[:SPLIT]]. Repeat for more."
    )
    field: str = Field(
        default="text", description="Field of a JSON line, or column of a Parquet file or hub dataset."
    )
    min_pairs: int = Field(default=2, ge=1, description="Keep word pairs that occur at least N times.")
    min_triples: int = Field(default=3, ge=1, description="Keep word triples that occur at least N times.")
    validation_share: float = Field(
        default=0.01, ge=0, lt=1, description="Share held out for validation, as in 'unembed prepare'."
    )
    test_share: float = Field(
        default=0.01, ge=0, lt=1, description="Share held out for testing, as in 'unembed prepare'."
    )


class Counted(NamedTuple):
    """The phrases, and of how many texts they are."""

    phrases: Phrases
    texts: int
    held_out: int
    repeated: int


def count_phrases(config: PhrasesConfig, checkpoint: Checkpoint, *, quiet: bool = True) -> Counted:
    """Count word pairs and triples in the sources' training texts, each text once, in the model's entries."""
    if not config.source:
        raise UsageError("There is no source.", hint="Give at least one: --source en=corpus.txt.gz")
    sources = [parse_source(spec, field=config.field) for spec in config.source]
    seen = KeySet()
    used = held_out = repeated = 0

    def texts() -> Iterator[list[int]]:
        nonlocal used, held_out, repeated
        with progress_bar("Counting", total=None, unit="texts", quiet=quiet) as bar:
            for source in sources:
                bar.describe(f"Counting {source.label}")
                every = (text for raw in source.texts() if (text := clean(raw)))
                while batch := list(islice(every, _BATCH)):
                    keys = text_keys(batch)
                    new = seen.add(keys)
                    train = _sides(config, keys) == SPLITS.index("train")  # [N]
                    fresh = [batch[row] for row in np.nonzero(new & train)[0].tolist()]
                    for ids in tokenise(checkpoint.tokenizer, fresh):
                        yield checkpoint.vocabulary.encode(np.array(ids, dtype=np.int64)).tolist()
                    used, repeated = used + len(fresh), repeated + int((~new).sum())
                    held_out += int((new & ~train).sum())
                    bar.advance(len(batch))

    phrases = Phrases.count(
        texts(), checkpoint.vocabulary, min_pairs=config.min_pairs, min_triples=config.min_triples
    )
    if not used:
        raise DataError("The sources hold no text to count.", hint="Are all of them held out, or empty?")
    return Counted(phrases, used, held_out, repeated)


def _sides(config: PhrasesConfig, keys: NDArray[np.uint64]) -> NDArray[np.uint8]:  # [N]
    return split_labels(keys, validation_share=config.validation_share, test_share=config.test_share)
