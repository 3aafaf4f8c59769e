"""Single-word edits that a vector asks for, found without a forward pass.

The words are those that the lexical head expects. An edit is worth what it adds along the direction that the
text lacks, by the words' own vectors, and what it does to the text's trigrams:

    worth = (u(new) - u(old)) . (e - v(text)) + LEXICAL (lexical(new) - lexical(old))
            + TRIGRAM (log p(edited) - log p(text))

It only says which few of a thousand edits the surrogate reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unembed.model.trigrams import Phrases
from unembed.search.edits import Entries

# Found with one model; 2.5 times the first and twice the second each changed F1 by 0.1 points, n = 320.
LEXICAL = 0.004  # what a nat of the lexical head is worth in cosine
TRIGRAM = 0.005  # and one of a text's trigrams
NO_WORD = -3.0  # the lexical logit of a gap: what a word must beat that comes, or that goes
BEFORE_TRIGRAMS = 250  # edits of each kind whose trigrams are looked up

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

REPLACE, INSERT, DELETE = range(3)


@dataclass(frozen=True)
class Wanted:
    """What is known of a vector's words."""

    words: Ints  # [K] entries that the text may have
    worth: Floats  # [V] lexical logits


@dataclass(frozen=True)
class _Edits:
    """Edits of one text, side by side."""

    kind: Ints  # [n]
    position: Ints  # [n]
    word: Ints  # [n] that comes; 0 where one goes
    worth: Doubles  # [n]

    def select(self, rows: NDArray[np.generic]) -> _Edits:
        return _Edits(self.kind[rows], self.position[rows], self.word[rows], self.worth[rows])


def word_edits(
    text: Entries,
    wanted: Wanted,
    along: Floats,
    own: Floats,
    phrases: Phrases,
    count: int,
    *,
    first: int = 0,
    keep_length: bool = False,
) -> list[Entries]:
    """The `count` edits of a text that are worth most, best first.

    along: [K] and own: [L], how far the wanted words and the text's lead towards what it lacks; first: the
    position before which nothing changes; keep_length: words are only replaced.
    """
    tokens = np.array(text, dtype=np.int64)  # [L]
    kinds = [_replacements(tokens, wanted, along, own, first)]
    if not keep_length:
        kinds.append(_insertions(tokens, wanted, along, first))
        kinds.append(_deletions(tokens, wanted, own, first))
    few = [some.select(np.argsort(-some.worth, kind="stable")[:BEFORE_TRIGRAMS]) for some in kinds]
    edits = _Edits(
        *(
            np.concatenate([getattr(some, name) for some in few])
            for name in ("kind", "position", "word", "worth")
        )
    )
    if not len(edits.kind):
        return []
    value = edits.worth + TRIGRAM * _trigram_gain(tokens, edits, phrases)  # [n]
    return [_apply(text, edits, row) for row in np.argsort(-value, kind="stable")[:count].tolist()]


def _replacements(tokens: Ints, wanted: Wanted, along: Floats, own: Floats, first: int) -> _Edits:
    position = np.repeat(np.arange(first, len(tokens)), len(wanted.words))
    number = np.tile(np.arange(len(wanted.words)), len(tokens) - first)
    word = wanted.words[number]
    lexical = wanted.worth[word] - wanted.worth[tokens[position]]
    worth = along[number] - own[position] + LEXICAL * lexical
    edits = _Edits(np.full(len(word), REPLACE), position, word, worth.astype(np.float64))
    return edits.select(word != tokens[position])


def _insertions(tokens: Ints, wanted: Wanted, along: Floats, first: int) -> _Edits:
    position = np.repeat(np.arange(first, len(tokens) + 1), len(wanted.words))
    number = np.tile(np.arange(len(wanted.words)), len(tokens) + 1 - first)
    word = wanted.words[number]
    worth = along[number] + LEXICAL * (wanted.worth[word] - NO_WORD)
    return _Edits(np.full(len(word), INSERT), position, word, worth.astype(np.float64))


def _deletions(tokens: Ints, wanted: Wanted, own: Floats, first: int) -> _Edits:
    position = np.arange(first if len(tokens) > 1 else len(tokens), len(tokens))
    worth = -own[position] - LEXICAL * (wanted.worth[tokens[position]] - NO_WORD)
    nothing = np.zeros(len(position), dtype=np.int64)
    return _Edits(np.full(len(position), DELETE), position, nothing, worth.astype(np.float64))


def _trigram_gain(tokens: Ints, edits: _Edits, phrases: Phrases) -> Doubles:
    """How much likelier each edit makes the text: only the triples around it change.  # [n]"""
    begin, end = phrases.size, phrases.size + 1
    padded = np.concatenate([[begin, begin], tokens, [end, end, end]])  # token i stands at i + 2
    here = phrases.log_probs(padded[:-2], padded[1:-1], padded[2:])  # [L + 3] of the token at each position
    here[len(tokens) + 1 :] = 0.0  # nothing comes behind the end
    at, comes = edits.position, edits.kind != DELETE  # [n]
    changed = here[at] + here[at + 1] + np.where(edits.kind == INSERT, 0.0, here[at + 2])  # [n]
    one, two = padded[at], padded[at + 1]  # before the edit
    following = at + 2 + (edits.kind != INSERT)
    three, four = padded[following], padded[following + 1]  # behind it
    now = np.zeros(len(at))
    sequences = (
        (comes, ((one, two, edits.word), (two, edits.word, three), (edits.word, three, four))),
        (~comes, ((one, two, three), (two, three, four))),
    )
    for rows, triples in sequences:
        for triple in triples:
            ends = rows & (triple[1] != end)  # [n]
            now[ends] += phrases.log_probs(*(part[ends] for part in triple))
    return now - changed


def _apply(text: Entries, edits: _Edits, row: int) -> Entries:
    position, kind = int(edits.position[row]), int(edits.kind[row])
    put: Entries = () if kind == DELETE else (int(edits.word[row]),)
    return (*text[:position], *put, *text[position + (kind != INSERT) :])


def likely_words(lexical: Floats, count: int, banned: Sequence[int]) -> Ints:
    """The words that a vector speaks of most, by the lexical head's logits [V].  # [count]"""
    left = lexical.copy()
    left[list(banned)] = -np.inf
    count = min(count, int(np.isfinite(left).sum()))
    top = np.argpartition(-left, count - 1)[:count]  # sorting all of them would take longer than all else
    return top[np.argsort(-left[top], kind="stable")]
