"""When two texts count as the same one: `normalise`, and the key that duplicates and splits go by.

The steps are part of the data format. Changing any of them moves sentences between train and test,
so a change must raise `NORMALISATION_VERSION`, which every manifest records.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

NORMALISATION_VERSION = 1

# Sentence punctuation that says nothing about which sentence it is, when it stands at an edge.
# '#', '%', '&', '*', '@' and the like stay: "C#" is not "C", and "10%" is not "10".
_EDGE_MARKS = frozenset(".,;:!?\"'`´·‧・。、،؛؟।॥¿¡…‥՞։።")
_EDGE_CATEGORIES = frozenset(("Pd", "Ps", "Pe", "Pi", "Pf"))  # dashes, brackets, quotation marks

_PERSON = b"unembed-text-%d" % NORMALISATION_VERSION


def normalise(text: str) -> str:
    """The form under which texts are compared; never shown, stored or encoded.

    1. compatibility characters and case are folded (NFKC after case folding, twice, as Unicode's
       caseless matching asks for), so `ＡＢＣ` and `abc` are one;
    2. invisible formatting characters (zero-width joiners, soft hyphens, byte order marks) go;
    3. every run of white space becomes one space, none at the edges;
    4. sentence punctuation, quotation marks, brackets and dashes go from both edges; a text that is
       nothing else is kept as it is.

    `normalise(normalise(text)) == normalise(text)` for every text.
    """
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
        folded = unicodedata.normalize("NFKC", folded.casefold())
        visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
        # Taking a character out can bring two together that compose.
        folded = unicodedata.normalize("NFKC", visible)
    spaced = " ".join(folded.split())
    start, end = 0, len(spaced)
    while start < end and _is_edge(spaced[start]):
        start += 1
    while end > start and _is_edge(spaced[end - 1]):
        end -= 1
    return spaced[start:end] or spaced


def text_key(text: str) -> int:
    """64 bits that stand for `normalise(text)`: equal for equal texts, in every run and every corpus."""
    return int.from_bytes(_hash(normalise(text)), "big")


def text_keys(texts: Sequence[str]) -> NDArray[np.uint64]:  # [N]
    """`text_key` of each text."""
    hashes = b"".join(_hash(normalise(text)) for text in texts)
    return np.frombuffer(hashes, dtype=">u8").astype(np.uint64)


def _hash(normalised: str) -> bytes:
    return blake2b(normalised.encode("utf-8", "surrogatepass"), digest_size=8, person=_PERSON).digest()


def _is_edge(char: str) -> bool:
    return char == " " or char in _EDGE_MARKS or unicodedata.category(char) in _EDGE_CATEGORIES
