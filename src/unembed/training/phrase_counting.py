"""Counting phrases: word pairs and triples of the training texts, in the model's entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from pydantic import Field

from unembed.errors import DataError
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.text import tokenise
from unembed.training.source_texts import SourcesConfig, SourceTexts


class PhrasesConfig(SourcesConfig):
    """Which texts, and how often a pair or triple must occur."""

    min_pairs: int = Field(default=2, ge=1, description="Keep word pairs that occur at least N times.")
    min_triples: int = Field(default=3, ge=1, description="Keep word triples that occur at least N times.")


class Counted(NamedTuple):
    """The phrases, and of how many texts they are."""

    phrases: Phrases
    texts: int
    held_out: int
    repeated: int


def count_phrases(config: PhrasesConfig, checkpoint: Checkpoint, *, quiet: bool = True) -> Counted:
    """Count word pairs and triples in the sources' training texts, each text once, in the model's entries."""
    sources = SourceTexts(config, quiet=quiet)

    def texts() -> Iterator[list[int]]:
        for batch in sources.batches():
            for ids in tokenise(checkpoint.tokenizer, batch):
                yield checkpoint.vocabulary.encode(np.array(ids, dtype=np.int64)).tolist()

    phrases = Phrases.count(
        texts(), checkpoint.vocabulary, min_pairs=config.min_pairs, min_triples=config.min_triples
    )
    if not sources.used:
        raise DataError("The sources hold no text to count.", hint="Are all of them held out, or empty?")
    return Counted(phrases, sources.used, sources.held_out, sources.repeated)
