"""Written forms: how a text that a model writes in lower case is put on paper.

The search works on the model's entries, and where they forget case and spacing many texts have the same ones.
A form says which of them is meant: how words are capitalised, and which spaces stand around marks. It names
words and marks, not positions, so that it also fits the text after an edit. Whatever the form, the tokenizer
reads the same entries back.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from unembed.model.truecasing import UNIT, Casing

# sentence: usual capitals, and one at each sentence's beginning; words: usual capitals alone.
Case = Literal["sentence", "words", "lower", "title", "upper"]
# Which of a mark's neighbours it touches: both, the one before it, the one behind it, none.
Spacing = Literal["glued", "left", "right", "apart"]

# Spaces that a tokenizer's text has and people do not write, where `text.natural` is not sure enough.
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b(\w\.) (?=\w\.)", r"\1"),  # p.m., U.S.
        (r"“ ", "“"),
        (r"(?<=[\w.,!?…]) ”", "”"),
        (r"(?<=\w) …", "…"),
        (r"(?<!\S)' (?=\w)(.*?[\w.,!?]) '(?!\S)", r"'\1'"),  # 'so'
        (r"(?<=\ws) ' (?=\w)", "' "),  # birds' nests
    )
)


@dataclass(frozen=True)
class Form:
    """A way to write texts; by default the usual one. An exception is for one occurrence, counted from 0."""

    case: Case = "sentence"
    words: tuple[tuple[str, int, str], ...] = ()  # word, occurrence, how it is written
    marks: tuple[tuple[str, int, Spacing], ...] = ()  # mark, occurrence, its spaces

    def with_case(self, case: Case) -> Form:
        """All words by another rule."""
        return Form(case, (), self.marks)

    def with_word(self, word: str, occurrence: int, written: str) -> Form:
        """One word written so."""
        others = tuple(one for one in self.words if one[:2] != (word, occurrence))
        return Form(self.case, (*others, (word, occurrence, written)), self.marks)

    def with_mark(self, mark: str, occurrence: int, spacing: Spacing) -> Form:
        """One mark with such spaces."""
        others = tuple(one for one in self.marks if one[:2] != (mark, occurrence))
        return Form(self.case, self.words, (*others, (mark, occurrence, spacing)))


USUAL = Form()


@dataclass(frozen=True)
class Unit:
    """A word or a mark of a text in lower case, and what the form makes of it."""

    text: str
    occurrence: int  # how many equal ones stand before it
    starts: bool  # a sentence
    spaced: bool  # a space stands before it
    written: str

    @property
    def is_mark(self) -> bool:
        """Whether a tokenizer cuts before and behind it, spaces or not."""
        category = unicodedata.category(self.text[0])
        return category.startswith("P") or (self.text.isascii() and not self.text.isalnum())


class Writer:
    """Writes texts in forms, with the words as they are usually written; or in lower case throughout."""

    def __init__(self, casing: Casing, *, cased: bool = True) -> None:
        self.casing, self.cased = casing, cased

    def write(self, text: str, form: Form | None = None) -> str:
        """A text as the model writes it, in a form."""
        return join(self.units(text, form))

    def units(self, text: str, form: Form | None = None) -> list[Unit]:
        """Its words and marks as they are written in a form."""
        form = form or USUAL
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        found = [(match.group(), match.start()) for match in UNIT.finditer(text)]
        starts = self.casing.starts([unit for unit, _ in found])
        exceptions = {(word, occurrence): written for word, occurrence, written in form.words}
        seen: dict[str, int] = {}
        out: list[Unit] = []
        for (unit, first), begins in zip(found, starts, strict=True):
            occurrence = seen[unit] = seen.get(unit, -1) + 1
            written = exceptions.get((unit, occurrence)) or self._written(unit, begins, form.case)
            spaced = first > 0 and text[first - 1].isspace()
            out.append(Unit(unit, occurrence, begins, spaced, written))
        return _respaced(out, form)

    def _written(self, unit: str, starts: bool, case: Case) -> str:
        if not self.cased or case == "lower" or not unit[0].isalpha():
            return unit
        if case == "upper":
            return same_tokens(unit.upper(), unit)
        usual = self.casing.usual(unit)
        return capital(usual) if case == "title" or (case == "sentence" and starts) else usual


def join(units: list[Unit]) -> str:
    """The text of words and marks."""
    return "".join(" " * unit.spaced + unit.written for unit in units)


def capital(word: str) -> str:
    """The word with a capital at its beginning."""
    return same_tokens(word[:1].upper() + word[1:], word)


def same_tokens(written: str, word: str) -> str:
    """What was made of a word, if it is still that word in lower case: 'ß' has no capital."""
    return written if written.lower() == word.lower() else word


def _respaced(units: list[Unit], form: Form) -> list[Unit]:
    """With the spaces that the form wants around its marks."""
    if not form.marks:
        return units
    wanted = {(mark, occurrence): spacing for mark, occurrence, spacing in form.marks}
    spaces = [unit.spaced for unit in units] + [False]
    for index, unit in enumerate(units):
        spacing = wanted.get((unit.text, unit.occurrence))
        if spacing is not None and unit.is_mark:
            spaces[index] = spacing in ("right", "apart") and index > 0
            spaces[index + 1] = spacing in ("left", "apart")
    return [
        Unit(unit.text, unit.occurrence, unit.starts, spaced, unit.written)
        for unit, spaced in zip(units, spaces, strict=False)
    ]
