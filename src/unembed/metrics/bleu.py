"""Corpus BLEU by sacrebleu, with its signature; the tokenizer goes by the text's language."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.extras import require
from unembed.metrics.base import Pair

DEFAULT_TOKENIZER = "13a"
_STATISTICS = 10  # matches of 1- to 4-grams, totals of 1- to 4-grams, both lengths


def bleu_tokenizer(language: str) -> str:
    """sacrebleu's own choice for a language, as far as it needs no download.

    Chinese is split into characters around other scripts (`zh`). Japanese goes through MeCab
    (`ja-mecab`) where that is installed, else character by character (`char`); the two are not
    comparable, and the signature tells them apart.
    """
    language = language.split("-")[0]  # zh-messages is Chinese
    if language == "zh":
        return "zh"
    if language == "ja":
        return "ja-mecab" if _has_mecab() else "char"
    return DEFAULT_TOKENIZER


def _has_mecab() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("MeCab", "ipadic"))


class Bleu:
    """BLEU of all texts as one corpus, from 0 to 100."""

    name = "bleu"
    label = "BLEU"
    percent = False
    bounds = (0.0, 100.0)
    best = 100.0
    compares = True

    def __init__(self) -> None:
        self._scorers: dict[str, Any] = {}

    def signature(self, languages: Sequence[str]) -> str:
        """One for each tokenizer: texts of different languages are tokenised differently, then pooled."""
        names = sorted({bleu_tokenizer(language) for language in languages} or {DEFAULT_TOKENIZER})
        return "; ".join(self._signature(name) for name in names)

    def _signature(self, tokenizer: str) -> str:
        scorer = self._scorer(tokenizer)
        scorer.corpus_score(["a"], [["a"]])  # the signature knows the references after a first score
        return str(scorer.get_signature())

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        out = np.zeros((len(pairs), _STATISTICS))
        for row, pair in enumerate(pairs):
            scorer = self._scorer(bleu_tokenizer(pair.language))
            score = scorer.corpus_score([pair.recovered], [[pair.target]])
            out[row] = [*score.counts, *score.totals, score.sys_len, score.ref_len]
        return out

    def value(self, sums: NDArray[np.float64], n: int) -> float:
        whole = [round(number) for number in sums]
        score = _metrics().BLEU.compute_bleu(
            whole[:4], whole[4:8], whole[8], whole[9], smooth_method="exp", effective_order=False
        )
        # Rounding in the geometric mean may end a hair above 100.
        return min(100.0, float(score.score))

    def _scorer(self, tokenizer: str) -> Any:
        if tokenizer not in self._scorers:
            self._scorers[tokenizer] = _metrics().BLEU(tokenize=tokenizer)
        return self._scorers[tokenizer]


def _metrics() -> Any:
    return require("sacrebleu.metrics", extra="eval", purpose="BLEU")
