"""What people do to a text before they embed it: prefixes, cuts, cleaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

# The prompts of published encoders, as they stand before the text.
PREFIXES = (
    "query: ",
    "passage: ",
    "search_query: ",
    "search_document: ",
    "clustering: ",
    "classification: ",
    "Represent this sentence for searching relevant passages: ",
    "Represent the document for retrieval: ",
    "title: none | text: ",
    "task: search result | query: ",
)
CHARACTERS = (256, 500, 512, 1000, 1024, 2000)
TOKENS = (64, 128, 256)


@dataclass(frozen=True)
class Preparation:
    """One thing that may have been done to texts."""

    name: str
    apply: Callable[[str], str]


PLAIN = Preparation("", lambda text: text)


def preparations(texts: Sequence[str], tokenizer: Tokenizer | None) -> list[Preparation]:
    """All that would change at least half of these texts: a text that is short is not cut."""
    known = [
        Preparation("newlines made spaces", lambda text: text.replace("\n", " ")),
        Preparation("white space at the ends removed", str.strip),
        Preparation("white space made single spaces", lambda text: " ".join(text.split())),
        Preparation("lower case", str.lower),
        *(_prefix(prefix) for prefix in PREFIXES),
        *(_characters(count) for count in CHARACTERS),
        *(_tokens(count, tokenizer) for count in TOKENS if tokenizer is not None),
    ]
    return [one for one in known if 2 * sum(one.apply(text) != text for text in texts) >= len(texts)]


def _prefix(prefix: str) -> Preparation:
    return Preparation(f"prefix '{prefix}'", lambda text: prefix + text)


def _characters(count: int) -> Preparation:
    return Preparation(f"cut after {count} characters", lambda text: text[:count])


def _tokens(count: int, tokenizer: Tokenizer) -> Preparation:
    """As encoders cut: special tokens count."""

    def cut(text: str) -> str:
        encoding = tokenizer.encode(text)
        if len(encoding.ids) <= count:
            return text
        specials = sum(encoding.special_tokens_mask)
        ends = [
            end
            for (_, end), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
            if not special
        ]
        return text[: ends[count - specials - 1]]

    return Preparation(f"cut after {count} tokens", cut)
