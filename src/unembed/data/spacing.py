"""Spaces as people write them: "didn't", where a tokenizer that cuts at punctuation decodes to "didn ' t"."""

from __future__ import annotations

import re

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


def natural(text: str) -> str:
    """The text with marks where they belong. No character but the space is added or taken away."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
