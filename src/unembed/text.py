"""From texts to a tokenizer's ids, and back to a text spaced as people write.

A tokenizer that cuts at punctuation decodes "didn't" to "didn ' t"; `natural` puts the spaces right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Other rules are other texts, and so other splits: data of two versions does not mix.
SPACING_VERSION = 1

# Applied in this order. Where it is not clear on which side a mark belongs, the text stays as it is.
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<=\w) (['’]) (?=(?:s|t|d|m|re|ve|ll|em|clock)\b)", r"\1"),  # didn't, Tom's, o'clock
        (r"\b([ODLodl]) (['’]) (?=\w)", r"\1\2"),  # O'Brien, d'Artagnan, l'Oréal
        (r"(?<=\w) ([-‐–/]) (?=\w)", r"\1"),  # well-known, and/or
        (r"(?<=\w) ([:;%)\]}])", r"\1"),  # 10%, (so), note:
        (r"([(\[{$£€#]) (?=\w)", r"\1"),  # $5, (so), #1
        (r"(?<=\d)\. (?=\d)", "."),  # 3.5
        (r"(?<=\d), (?=\d{3}\b)", ","),  # 10,000
        (r"(?<=\b\d): (?=\d\d\b)|(?<=\b\d\d): (?=\d\d\b)", ":"),  # 10:30
        (r'" ([^"]+?) "', r'"\1"'),  # "so"
    )
)


def tokenise(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Token ids without special tokens."""
    if not texts:
        return []
    return [encoding.ids for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def read_back(tokenizer: Tokenizer, ids: Sequence[Sequence[int]]) -> list[str]:
    """The texts that token ids stand for: no special tokens, no half characters, no outer space.

    Where a tokenizer cannot tell how a text was spaced, it is spaced as people write.
    """
    if not ids:
        return []
    decoded = tokenizer.decode_batch([list(row) for row in ids], skip_special_tokens=True)
    # A byte-level tokenizer cut inside a character decodes to U+FFFD at the end.
    plain = [text.rstrip("\ufffd").strip() for text in decoded]
    written = [natural(text) for text in plain]
    respaced = [row for row, text in enumerate(plain) if written[row] != text]
    before, after = (tokenise(tokenizer, [texts[row] for row in respaced]) for texts in (plain, written))
    for row, old, new in zip(respaced, before, after, strict=True):
        if old != new:
            written[row] = plain[row]
    return written


def natural(text: str) -> str:
    """The text with marks where they belong. No character but the space is added or taken away."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
