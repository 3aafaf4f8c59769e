"""Texts longer than the model writes: which of their words can be read off the vector. No sentence is
made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unembed.audit.audit_report import LongChunks, WordsFound
from unembed.audit.calibration import Calibration
from unembed.audit.case import Case
from unembed.audit.likely_words import LikelyWords, common_in, words_of
from unembed.audit.shares import difference_figure, mean_figure
from unembed.personal import Entity, Kind, recovered
from unembed.personal.came_back import Extent

READ = (10, 50)
NOTE = (
    "The model writes texts of up to {tokens} tokens. Of longer ones it is told here which of the words "
    "can be read off the vector; common words are left out, and no sentence is made up."
)


def read_long(case: Case, entities: Sequence[Sequence[Entity]] | None) -> LongChunks | None:
    """What the vectors of long texts show. entities: the personal data of each of them, where looked for."""
    if not case.long:
        return None
    base, inverter = case.chosen.base, case.chosen.inverter
    note = NOTE.format(tokens=base.max_length)
    if inverter is None:
        why = "Nothing was read off these vectors: there is no model for their encoder."
        return LongChunks(
            n=len(case.long), median_tokens=_median_tokens(case), words=(), note=f"{note} {why}"
        )
    found = LikelyWords(inverter).read(np.stack([row.vector for row in case.long]), READ[-1])
    if not case.with_texts:
        note += " " + _expected(case.calibration)
        return LongChunks(n=len(case.long), median_tokens=None, words=(), note=note)
    texts = [row.text or "" for row in case.long]
    own = [words_of(text) for text in texts]
    others = [row.text for row in case.others if row.text]
    names, names_found = None, None
    if entities is not None:
        asked = [[one for one in some if one.kind is Kind.NAME] for some in entities]
        names = sum(map(len, asked))
        names_found = sum(
            one.extent is Extent.WHOLE
            for some, words in zip(asked, found, strict=True)
            for one in recovered(some, " ".join(words))
        )
    return LongChunks(
        n=len(texts),
        median_tokens=_median_tokens(case),
        words=tuple(_found(found, own, others, k, case.config.seed) for k in READ),
        names=names,
        names_found=names_found,
        note=note,
    )


def _found(
    read: Sequence[Sequence[str]], own: Sequence[set[str]], others: Sequence[str], k: int, seed: int
) -> WordsFound:
    def hits(words: Sequence[str], text: set[str]) -> tuple[float, float]:
        right = len(set(words[:k]) & text)
        return right / k, right / max(1, len(text))

    mine = np.array([hits(words, text) for words, text in zip(read, own, strict=True)])  # [n, 2]
    common = common_in(others, k)
    floor = np.array([hits(common, text) for text in own]) if common else None  # [n, 2]
    return WordsFound(
        k=k,
        precision=mean_figure(mine[:, 0], seed=seed),
        recall=mean_figure(mine[:, 1], seed=seed),
        floor_precision=None if floor is None else mean_figure(floor[:, 0], seed=seed),
        floor_recall=None if floor is None else mean_figure(floor[:, 1], seed=seed),
        leaked=None if floor is None else difference_figure(mine[:, 0] - floor[:, 0], seed=seed),
    )


def _median_tokens(case: Case) -> int | None:
    if not case.with_texts:
        return None
    return int(np.median([len(ids) for ids in case.tokens([row.text or "" for row in case.long])]))


def _expected(calibration: Calibration | None) -> str:
    if calibration is None or not calibration.words:
        return "Without texts there is nothing to compare these words with."
    shares = ", ".join(f"{share:.0%} of the likeliest {k}" for k, share in calibration.words.items())
    return (
        f"Without texts there is nothing to compare with; of abstracts of papers, {shares} words are right."
    )
