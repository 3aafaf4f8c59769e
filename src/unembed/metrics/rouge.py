"""ROUGE-L by rouge-score, with words that Chinese and Japanese have too."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.extras import require
from unembed.metrics.base import MeanMetric, Pair, column

# Scripts that put no spaces between words: every letter is a word of its own.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration mark and zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x20000, 0x3FFFF),  # Han, further extensions
)


class WordTokenizer:
    """Runs of letters, marks and digits; single characters in scripts without spaces; no punctuation.

    rouge-score's own tokenizer keeps a-z and 0-9 only, which scores any two Chinese texts as 0.
    """

    def tokenize(self, text: str) -> list[str]:
        words: list[str] = []
        open_word = False
        for char in unicodedata.normalize("NFKC", text).casefold():
            kind = unicodedata.category(char)[0]
            if kind == "M" and words and (open_word or _is_unspaced(words[-1])):
                words[-1] += char  # a mark belongs to the letter before it
            elif kind not in "LMN":
                open_word = False
            elif _is_unspaced(char):
                words.append(char)
                open_word = False
            elif open_word:
                words[-1] += char
            else:
                words.append(char)
                open_word = True
        return words


def _is_unspaced(word: str) -> bool:
    return any(low <= ord(word[0]) <= high for low, high in _UNSPACED)


class RougeL(MeanMetric):
    """The mean over texts of the F-measure of their longest common subsequence of words."""

    name = "rouge_l"
    label = "ROUGE-L"
    percent = False

    @cached_property
    def _scorer(self) -> Any:
        rouge = require("rouge_score.rouge_scorer", extra="eval", purpose="ROUGE-L")
        return rouge.RougeScorer(["rougeL"], use_stemmer=False, tokenizer=WordTokenizer())

    def signature(self, languages: Sequence[str]) -> str:
        from importlib.metadata import version

        return (
            f"rouge-score {version('rouge-score')}, F-measure, no stemmer, Unicode words "
            "(characters where a script has no spaces), mean over texts"
        )

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return column([self._score(pair) for pair in pairs])

    def _score(self, pair: Pair) -> float:
        if pair.target == pair.recovered:
            return 1.0  # also where there is no word in it, which rouge-score calls 0
        return float(self._scorer.score(pair.target, pair.recovered)["rougeL"].fmeasure)
