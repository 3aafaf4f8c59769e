"""Climbing: a text is edited as long as a surrogate of the encoder says that its vector comes nearer.

    value(text) = cosine(surrogate(text), e) + TRIGRAM log p(text)

The denoiser's texts are seldom the best that the surrogate knows: of texts that are not found, the original
is nearer by the surrogate nineteen times in twenty (benchmarks/ranking.py). Reading a text costs a small part
of a pass of the denoiser, so it reads the neighbours of the best text, then those of the best of all, and so
on. There is no pass of the denoiser and no call of the encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unembed.encoders.base import Encoder
from unembed.model.checkpoint import Checkpoint
from unembed.model.trigrams import Phrases
from unembed.model.word_vectors import WordVectors
from unembed.search.edits import Entries, moves
from unembed.search.error_model import Floats, unit
from unembed.search.merge import pairs
from unembed.search.word_edits import Wanted, word_edits

# What a nat of a text's trigram log-probability is worth in cosine: as in a search that a surrogate guides.
# Twice as much in the climb lost a point of F1, n = 320.
TRIGRAM = 0.0015
WANTED_WORDS = 60  # that the lexical head expects most: edits put in no others
BEAM = 4  # of the best texts, only these are edited
WORDS = 32  # single-word edits of a text that are read; 12 in as many rounds lose a point of F1, n = 640
MOVES = 3  # texts in which a few words stand elsewhere
LONGEST_MOVE = 3  # words
PAIRS = 3  # of a text's best edits, every two of so many are also made at once


class Candidate(NamedTuple):
    """A text that the surrogate has read."""

    entries: Entries
    text: str
    vector: Floats  # [D] of length 1, by the surrogate
    value: float


@dataclass
class Target:
    """One vector, and what is known of its text."""

    vector: Floats  # [D] of length 1
    wanted: Wanted
    first: int = 0  # tokens at the beginning that are given: nothing before changes
    length: int | None = None  # tokens of the text, where that is known
    read: dict[Entries, Candidate] = field(default_factory=dict)
    edited: set[Entries] = field(default_factory=set)

    def ranked(self) -> list[Candidate]:
        """Best first."""
        return sorted(self.read.values(), key=lambda one: -one.value)

    def distinct(self, count: int) -> list[Candidate]:
        """The best that differ as texts."""
        unique: dict[str, Candidate] = {}
        for one in self.ranked():
            unique.setdefault(one.text, one)
        return list(unique.values())[:count]

    def next(self) -> Candidate | None:
        """The best text that was not edited yet, if it is among the best of all."""
        return next((one for one in self.ranked()[:BEAM] if one.entries not in self.edited), None)


class Climb:
    """Reads texts of many targets together; what comes out for one does not depend on the others."""

    def __init__(
        self, checkpoint: Checkpoint, surrogate: Encoder, phrases: Phrases, words: WordVectors
    ) -> None:
        """words: by the surrogate."""
        self._checkpoint, self._surrogate, self._phrases = checkpoint, surrogate, phrases
        self._words = words
        # A text of fixed length needs room for its end.
        self._longest = checkpoint.config.denoiser.max_length - int(checkpoint.vocabulary.fixed_length)

    def run(self, targets: Sequence[Target], starts: Sequence[Sequence[Entries]], rounds: int) -> None:
        """Read each target's first texts, then the neighbours of one text per round."""
        self._read(targets, starts)
        if rounds and targets:
            self._words(np.concatenate([target.wanted.words for target in targets]))  # all in one batch
        for _ in range(rounds):
            found = [(target, target.next()) for target in targets]
            going = [(target, text) for target, text in found if text is not None]
            if not going:
                return
            parents = [target for target, _ in going]
            near = [self._neighbours(target, text) for target, text in going]
            self._read(parents, near)
            self._read(parents, [_pairs(*one, some) for one, some in zip(going, near, strict=True)])

    def _neighbours(self, target: Target, parent: Candidate) -> list[Entries]:
        target.edited.add(parent.entries)
        lack = target.vector - parent.vector  # [D]
        found = word_edits(
            parent.entries,
            target.wanted,
            self._words(target.wanted.words) @ lack,
            self._words(np.array(parent.entries, dtype=np.int64)) @ lack,
            self._phrases,
            WORDS,
            first=target.first,
            keep_length=target.length is not None,
        )
        given = parent.entries[: target.first]
        moved = [(*given, *one) for one in moves(parent.entries[target.first :], LONGEST_MOVE)]
        likely = np.array(self._phrases.trigram_log_probs(moved))
        return [*found, *(moved[index] for index in np.argsort(-likely, kind="stable")[:MOVES].tolist())]

    def _read(self, targets: Sequence[Target], texts: Sequence[Sequence[Entries]]) -> None:
        """Let the surrogate read what is new."""
        new = [
            (target, entries)
            for target, some in zip(targets, texts, strict=True)
            for entries in dict.fromkeys(some)
            if entries not in target.read and 0 < len(entries) <= self._longest
        ]
        if not new:
            return
        entries = [one for _, one in new]
        written = self._checkpoint.texts(entries)
        distinct = list(dict.fromkeys(written))
        rows = dict(zip(distinct, unit(self._surrogate.encode(distinct)), strict=True))
        likely = self._phrases.trigram_log_probs(entries)
        for (target, one), text, log_prob in zip(new, written, likely, strict=True):
            vector = rows[text]
            value = float(vector @ target.vector) + TRIGRAM * log_prob
            target.read[one] = Candidate(one, text, vector, value)


def _pairs(target: Target, parent: Candidate, near: Sequence[Entries]) -> list[Entries]:
    """The best of these neighbours, every two combined."""
    read = [target.read[one] for one in dict.fromkeys(near) if one in target.read]
    best = sorted(read, key=lambda one: -one.value)[:PAIRS]
    return pairs(parent.entries, [one.entries for one in best])
