"""What an encoder tells apart in how a text is written: its case, and the spaces around its marks.

An encoder is asked: it embeds a few texts as written, in lower case, and with other spaces. One whose
tokenizer reads all of these alike need not be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unembed.encoders.base import Encoder
from unembed.errors import UnembedError

_WRITTEN = (
    "Anna's brother said: \"I won't pay $3.50!\"",
    "In May Tom met Mary at the BBC, on a well-known show.",
)
_SPACED = (
    "Anna ' s brother said : \" I won ' t pay $ 3 . 50 ! \"",
    "In May Tom met Mary at the BBC , on a well - known show .",
)
_TEXTS = (*_WRITTEN, *(text.lower() for text in _WRITTEN), *_SPACED)
ASKED = len(_TEXTS)  # texts that the question costs
_DIFFERENT = 1e-4  # cosines that are less than 1 by more than this are of texts that were told apart


class WrittenDifferences(NamedTuple):
    """Whether an encoder's vector changes with them."""

    case: bool
    spacing: bool
    calls: int = 0  # texts that were embedded to find out


_KNOWN: dict[str, WrittenDifferences] = {}  # by digest: each encoder is asked once


def written_differences(encoder: Encoder) -> WrittenDifferences:
    """What this encoder tells apart; it is asked at most once."""
    key = encoder.info.digest
    if key not in _KNOWN:
        _KNOWN[key] = WrittenDifferences(False, False) if _reads_alike(encoder) else _ask(encoder)
    return _KNOWN[key]


def _reads_alike(encoder: Encoder) -> bool:
    """Whether the encoder's tokenizer makes the same tokens of all forms, without a call."""
    try:
        tokenizer = encoder.tokenizer()
    except UnembedError:  # it has none, as an endpoint
        return False
    ids = [found.ids for found in tokenizer.encode_batch(list(_TEXTS), add_special_tokens=False)]
    half = len(_WRITTEN)
    return ids[:half] == ids[half : 2 * half] == ids[2 * half :]


def _ask(encoder: Encoder) -> WrittenDifferences:
    vectors = encoder.encode(list(_TEXTS)).astype(np.float64)  # [6, D]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    written, lower, spaced = vectors.reshape(3, len(_WRITTEN), -1)  # [2, D] each
    case, spacing = (
        bool((1 - (written * other).sum(axis=1) > _DIFFERENT).any()) for other in (lower, spaced)
    )
    return WrittenDifferences(case, spacing, ASKED)
