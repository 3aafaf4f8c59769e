"""The attacker who knows how a text begins, and completes it: how much of the rest does the vector tell him?

A letter's first line, a form's heading or a quoted sentence is often known. He gives the first words to the
model, which decodes the rest. The floor is the same with another row's vector: what the words alone suggest.
Of a text longer than the model writes, he gets the next words, not all; what is compared is as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unembed.audit.attack_rows import AttackLog, AttackRow
from unembed.audit.audit_report import Completion, Floor, Measure
from unembed.audit.case import Case
from unembed.audit.likely_words import words_of
from unembed.audit.shares import Doubles, difference_figure, mean_figure, share_figure
from unembed.decode.result import Inversion
from unembed.evaluation.floors import derangement
from unembed.invert_config import InvertConfig
from unembed.inverter import Inverter
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1
from unembed.progress import Progress, progress_bar
from unembed.text import read_back

NAME = "beginning"  # among --attackers, and in rows.jsonl
FLOOR = "beginning-floor"
TITLE = "Knows how a text begins"
MOST = 40  # texts of either kind
LEAST_WORDS = 6  # of a text that is worth it
SHARE, MOST_GIVEN = 3, 8  # a third of the words is given, and of a long text eight
BATCH = 16
HOW = InvertConfig(batch_size=BATCH, check=False, bad_vectors="record")
_WORD = re.compile(r"\S+")
_Name = Literal["exact", "f1", "words"]
LABELS: dict[_Name, str] = {
    "exact": "The rest word for word",
    "f1": "Words of what follows (token F1)",
    "words": "Telling words that are right",
}


@dataclass(frozen=True)
class Begun:
    """A text that is known up to a point."""

    number: int  # of its rows: the target, or behind all targets the long text
    vector: NDArray[np.float32]  # [D]
    beginning: str
    rest: str
    long: bool


def begun_texts(case: Case) -> list[Begun]:
    """The first texts of the sample that are long enough, cut; those that the model writes first."""
    if not case.with_texts or case.chosen.inverter is None:
        return []
    short = [(number, case.targets[number].vector, case.targets[number].text) for number in case.usual]
    long = [(len(case.targets) + place, row.vector, row.text) for place, row in enumerate(case.long)]
    out = []
    for some, is_long in ((short, False), (long, True)):
        cut = [
            Begun(number, vector, *parts, is_long)
            for number, vector, text in some
            if (parts := _cut(text or "")) is not None
        ]
        out += _that_fit(case, cut)[:MOST]
    return out


def _cut(text: str) -> tuple[str, str] | None:
    """The first words, and the rest."""
    words = list(_WORD.finditer(text))
    if len(words) < LEAST_WORDS:
        return None
    end = words[min(MOST_GIVEN, len(words) // SHARE) - 1].end()
    return text[:end], text[end:].strip()


def _that_fit(case: Case, texts: list[Begun]) -> list[Begun]:
    """Those whose beginning leaves the model at least half of its length."""
    lengths = [len(ids) for ids in case.tokens([one.beginning for one in texts])]
    room = case.chosen.base.max_length // 2
    return [one for one, length in zip(texts, lengths, strict=True) if length <= room]


def complete(case: Case, log: AttackLog, *, quiet: bool = True) -> None:
    """Append what is recovered of every rest, with its own vector and with somebody else's."""
    inverter = case.chosen.inverter
    texts = begun_texts(case)
    if inverter is None or not texts:
        return
    with progress_bar("Known beginnings", total=2 * len(texts), unit="vectors", quiet=quiet) as progress:
        for is_long in (False, True):
            part = [one for one in texts if one.long == is_long]
            if len(part) < 2:
                continue
            other = derangement(len(part), seed=case.config.seed)  # [n]
            for name, order in ((NAME, np.arange(len(part))), (FLOOR, other)):
                done = {row.target for row in log.of(name)}
                left = [place for place in range(len(part)) if part[place].number not in done]
                for first in range(0, len(left), BATCH):
                    some = left[first : first + BATCH]
                    vectors = np.stack([part[order[place]].vector for place in some])  # [n, D]
                    found = _rests(inverter, [part[place] for place in some], vectors, case, progress)
                    log.append(
                        AttackRow(
                            attacker=name, target=part[place].number, recovered=text, score=score, seconds=0
                        )
                        for place, (text, score) in zip(some, found, strict=True)
                    )


def _rests(
    inverter: Inverter, texts: Sequence[Begun], vectors: NDArray[np.float32], case: Case, progress: Progress
) -> list[tuple[str, float]]:
    """What comes behind each beginning, by the vectors [n, D]."""
    full = texts[0].long and not inverter.fixed_length
    how = HOW.model_copy(
        update={
            "beginnings": tuple(one.beginning for one in texts),
            "lengths": inverter.max_length if full else None,
            "seed": case.config.seed,
        }
    )
    out = []
    for one, found in zip(texts, inverter.stream(vectors, how), strict=True):
        out.append((_behind(case, one, found), max(found.score, -1e6)))
        progress.advance()
    return out


def _behind(case: Case, text: Begun, found: Inversion) -> str:
    """The recovered text without the beginning, which the attacker knew."""
    [ids] = case.tokens([text.beginning])
    vocabulary = case.chosen.base.checkpoint.vocabulary
    known = len(vocabulary.decode(vocabulary.encode(np.array(ids, dtype=np.int64)).tolist()))
    return read_back(case.chosen.base.checkpoint.tokenizer, [found.tokens[known:]])[0]


@dataclass(frozen=True)
class Completed:
    """The figures, and what was measured on each row."""

    figures: tuple[Completion, ...]  # of texts that the model writes, then of longer ones
    statistics: dict[tuple[str, int], dict[str, float]]  # by the row's attacker and number


def read_completions(case: Case, log: AttackLog) -> Completed:
    """What the rows say; a text counts once it has both of its rows."""
    rows = {(row.attacker, row.target): row for row in log.rows if row.attacker in (NAME, FLOOR)}
    statistics: dict[tuple[str, int], dict[str, float]] = {}
    figures = []
    begun = [one for one in begun_texts(case) if {(NAME, one.number), (FLOOR, one.number)} <= set(rows)]
    for texts in ([one for one in begun if not one.long], [one for one in begun if one.long]):
        for name in (NAME, FLOOR):
            for one in texts:
                statistics[name, one.number] = _compare(case, one, rows[name, one.number].recovered or "")
        if texts:
            figures.append(_completion(texts, statistics, case.config.seed))
    return Completed(tuple(figures), statistics)


def _compare(case: Case, text: Begun, said: str) -> dict[str, float]:
    """How much of a rest was said; of a long text's, of the part that the model has room for."""
    mine, rest, known = case.tokens([said, text.rest, text.beginning])
    telling = words_of(said) - words_of(text.beginning)
    right = len(telling & words_of(text.rest)) / len(telling) if telling else 0.0
    found = {"f1": token_f1(rest[: case.chosen.base.max_length - len(known)], mine), "words": right}
    return found if text.long else {"exact": float(exact_match(text.rest, said)), **found}


def _completion(
    texts: Sequence[Begun], statistics: dict[tuple[str, int], dict[str, float]], seed: int
) -> Completion:
    long = texts[0].long
    measures = []
    for name, label in LABELS.items():
        if name in statistics[NAME, texts[0].number]:
            mine, floor = (
                np.array([statistics[row, one.number][name] for one in texts]) for row in (NAME, FLOOR)
            )
            measures.append(_measure(name, label, mine, floor, seed))
    given = float(np.mean([len(_WORD.findall(one.beginning)) for one in texts]))
    return Completion(long=long, n=len(texts), given=round(given, 1), measures=tuple(measures))


def _measure(name: _Name, label: str, mine: Doubles, floor: Doubles, seed: int) -> Measure:
    figure = share_figure if name == "exact" else mean_figure
    beside = Floor(
        name="shuffled", label="The same words with another row's vector", figure=figure(floor, seed=seed)
    )
    return Measure(
        name=name,
        label=label,
        figure=figure(mine, seed=seed),
        floors=(beside,),
        leaked=difference_figure(mine - floor, seed=seed),
        found=int(mine.sum()) if name == "exact" else None,
        total=len(mine) if name == "exact" else None,
    )
