"""The texts that an adapter is fitted on where none are given: they come with the package.

English sentences of Tatoeba (CC BY 2.0 FR) and sentences made by rule, chosen for coverage of words and
lengths and in random order: the first N are a sample of all (recipes/adapters/default_texts.py).
"""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

from unembed.adaptation.pairs import Fits

TEXTS = Path(__file__).parents[1] / "assets" / "adapt-texts.txt.gz"


def default_texts(count: int, fits: Fits) -> list[str]:
    """The first `count` of them that the model can write; all, where there are fewer."""
    with gzip.open(TEXTS, "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file]
    return list(islice((text for text, fit in zip(texts, fits(texts), strict=True) if fit), count))
