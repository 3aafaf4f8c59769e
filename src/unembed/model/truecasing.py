"""How words are usually written: which begin with a capital, which are all capitals, which bear accents.

A tokenizer that folds case forgets it. Counts of written words tell what it was most of the time: `Tom` and
`USA` anywhere, other words at a sentence's beginning only. A word is counted where it does not begin a
sentence, in texts that are written as sentences.
"""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unembed.errors import DataError
from unembed.storage import atomic_write

CASING = "casing.npz"
FORMAT = 1
UNIT = re.compile(r"[^\W_]+|[^\w\s]|_")  # a word or a mark
_AFTER_STOP = re.compile(r"([^\W\d_]+)\. ([^\W\d_])")  # a word, and the first letter behind its full stop
LEAST_SHARE = 0.03  # of a word's occurrences: a rarer way to write it is not kept
_ENDS = frozenset(".!?")
_APOSTROPHES = frozenset("'’")
_AGAIN = "Count again: unembed casing --model MODEL --source TEXTS"

Forms = tuple[tuple[str, float], ...]  # ways to write a word, with their shares


@dataclass(frozen=True)
class Casing:
    """Words that are not always lower case, by their folded form."""

    words: Mapping[str, Forms] = field(default_factory=lambda: {"i": (("I", 1.0),)})
    abbreviations: frozenset[str] = frozenset()  # words whose full stop does not end a sentence

    def forms(self, word: str) -> Forms:
        """Ways to write a word within a sentence, with their shares, likeliest first."""
        known = self.words.get(word, ())
        lower = (word, max(0.0, 1.0 - sum(share for _, share in known)))
        return tuple(sorted((*known, lower), key=lambda one: -one[1]))

    def usual(self, word: str) -> str:
        """The usual way to write a word within a sentence."""
        return self.forms(word)[0][0]

    def starts(self, units: Sequence[str]) -> list[bool]:
        """Which of a text's words and marks are words that begin a sentence."""
        out: list[bool] = []
        begins, before, apart = True, "", True
        for unit in units:
            word = unit[0].isalnum()
            out.append(begins and word)
            if word:
                begins = False
            elif unit in _ENDS:
                initial = len(before) == 1 and before.isalpha() and before != "i" and apart  # p.m., J. Smith
                short = unit == "." and (initial or before in self.abbreviations)
                begins = begins or not short
            apart = before not in _APOSTROPHES  # a letter behind one is the end of a word: don't
            before = fold(unit)
        return out

    @classmethod
    def count(cls, texts: Iterable[str], *, min_count: int = 5) -> Casing:
        """Count how words are written; keep those that occur at least so often."""
        written: defaultdict[str, Counter[str]] = defaultdict(Counter)
        continued: Counter[str] = Counter()  # a lower-case word follows its full stop
        ended: Counter[str] = Counter()
        plain = cls({})
        for text in texts:
            units = UNIT.findall(text)
            if not is_sentence(units):
                continue
            for unit, starts in zip(units, plain.starts(units), strict=True):
                if not starts and unit[0].isalpha():
                    written[fold(unit)][unit] += 1
            for word, after in _AFTER_STOP.findall(text):
                (continued if after.islower() else ended)[fold(word)] += 1
        words = {word: kept for word, forms in written.items() if (kept := _kept(word, forms, min_count))}
        short = {word for word, count in continued.items() if count >= min_count and count > ended[word]}
        return cls(words, frozenset(short))

    def save(self, file: Path) -> None:
        """Write it: one way to write a word a line, in the order of the words, compressed."""
        ordered = [(form, share) for word in sorted(self.words) for form, share in self.words[word]]
        percent = np.array([max(1, round(100 * share)) for _, share in ordered], dtype=np.uint8)
        packed = io.BytesIO()
        np.savez_compressed(
            packed,
            format=np.array(FORMAT),
            forms=_packed(form for form, _ in ordered),
            percent=percent,
            abbreviations=_packed(sorted(self.abbreviations)),
        )
        with atomic_write(file) as opened:
            opened.write(packed.getvalue())

    @classmethod
    def load(cls, file: Path) -> Casing:
        """Read it; a damaged file is an error."""
        try:
            with np.load(file, allow_pickle=False) as arrays:
                if int(arrays["format"]) != FORMAT:
                    raise DataError(f"{file} was written by another version of unembed.", hint=_AGAIN)
                forms, short = (
                    arrays[name].tobytes().decode().split("\n") for name in ("forms", "abbreviations")
                )
                shares = (arrays["percent"] / 100).tolist()
            words: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
            for form, share in zip(forms if shares else [], shares, strict=True):
                words[fold(form)].append((form, share))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(f"{file} is damaged: {error}", hint=_AGAIN) from error
        return cls({word: tuple(some) for word, some in words.items()}, frozenset(filter(None, short)))


def fold(word: str) -> str:
    """A word as a tokenizer reads it that forgets case and accents."""
    lower = word.lower()
    if lower.isascii():
        return lower
    apart = unicodedata.normalize("NFD", lower)
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


def is_sentence(units: Sequence[str]) -> bool:
    """Whether a text begins with a capital and most of its other words do not: no title, no shouting."""
    words = [unit for unit in units if unit[0].isalpha()]
    if len(words) < 3 or not words[0][0].isupper():
        return False
    return sum(word[0].isupper() for word in words[1:]) <= len(words[1:]) / 2


def _kept(word: str, forms: Counter[str], min_count: int) -> Forms:
    total = forms.total()
    return tuple(
        (form, count / total)
        for form, count in forms.most_common(3)
        if total >= min_count and form != word and count >= LEAST_SHARE * total
    )


def _packed(lines: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)
