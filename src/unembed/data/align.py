"""Tokens and text that agree: what the encoder reads is exactly what the kept tokens say.

A tokenizer forgets things (case, accents, unknown characters, the half of a character that truncation
cuts off), so the text that came in is not what its tokens say. `align` finds, for every text, token
ids and a text with

    tokenise(text) == ids   and   read_back(ids) == text

so that a model that recovers the ids has recovered all of what the encoder was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unembed.text import read_back, tokenise

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Aligned:
    """One text after truncation."""

    ids: list[int]
    text: str
    full_length: int  # tokens of the whole text, before truncation
    stable: bool  # the two equations above hold
    realigned: bool  # the ids are those of the decoded text, not those of the text that came in


def align(tokenizer: Tokenizer, texts: Sequence[str], *, seq_len: int) -> list[Aligned]:
    """Cut each text to `seq_len` tokens and find the pair of ids and text that agree.

    The decoded text is tokenised again. Where that gives other ids (an unknown character that decoding
    dropped, a word that truncation split), they get one more round; a text that still does not agree
    with itself is marked as not stable.
    """
    whole = tokenise(tokenizer, texts)
    ids = [full[:seq_len] for full in whole]
    decoded = read_back(tokenizer, ids)
    again = tokenise(tokenizer, decoded)
    result = [
        Aligned(kept, text, len(full), stable=kept == other, realigned=False)
        for full, kept, text, other in zip(whole, ids, decoded, again, strict=True)
    ]
    unstable = [row for row, sample in enumerate(result) if not sample.stable]
    second = [again[row][:seq_len] for row in unstable]
    second_text = read_back(tokenizer, second)
    second_again = tokenise(tokenizer, second_text)
    for row, kept, text, other in zip(unstable, second, second_text, second_again, strict=True):
        stable = kept == other
        result[row] = Aligned(kept, text, len(whole[row]), stable=stable, realigned=stable)
    return result
