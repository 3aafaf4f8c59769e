"""`identify`: dimension, norms and statistics first; then, where there are texts, the encoders themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from unembed.encoders.base import Encoder
from unembed.errors import DataError, UnembedError, UsageError
from unembed.identification.compare_statistics import StatisticalFit, compare_statistics
from unembed.identification.compare_texts import Comparison, compare_texts
from unembed.identification.decide import decide
from unembed.identification.encoder_statistics import EncoderStatistics, read_statistics
from unembed.identification.evidence import describe_evidence
from unembed.identification.known_encoders import load_plain, local_encoders
from unembed.identification.number_format import all_unit, lengths, rounding
from unembed.identification.two_clouds import two_clouds
from unembed.identification.verdict import Evidence, Identification
from unembed.identification.verdict_confidence import confidence, in_words
from unembed.progress import Progress, SilentProgress
from unembed.vectors.arrays import Floats, as_floats

TRIES = 32


def identify(
    vectors: Any,
    texts: Sequence[str | None] | None = None,
    *,
    encoders: Sequence[str | Encoder] | None = None,
    tries: int = TRIES,
    seed: int = 0,
    metadata: Mapping[str, str] | None = None,
    statistics: Sequence[EncoderStatistics] | None = None,
    trust_remote_code: bool = False,
    progress: Progress | None = None,
) -> Identification:
    """Which encoder made these vectors [n, D].

    `texts` are theirs, where there are any (None for rows without). Up to `tries` of them, drawn by `seed`,
    are embedded with each of `encoders`; by default with all that are on this machine, have the dimension
    and are no endpoint. `metadata` is what the store says of itself; `statistics` are those of the encoders
    that count as known, by default all that come with unembed. Vectors that fit nothing known get the verdict
    `unknown`.

    >>> found = identify(vectors, texts)
    >>> found.verdict, found.encoder, found.sure
    (<Verdict.IDENTIFIED: 'identified'>, 'minilm', 'practically certain')
    """
    given = as_floats(vectors)
    _check(given, texts, tries)
    usable = np.isfinite(given).all(axis=1) & np.any(given != 0, axis=1)  # [n]
    if not usable.any():
        raise DataError("None of the vectors can be used: each is zero, or holds NaN or infinity.")
    kept = given[usable]  # [n, D]
    norms, precision = lengths(kept), rounding(kept)
    unit = (kept / norms[:, None]).astype(np.float32)  # [n, D]
    known = read_statistics() if statistics is None else statistics
    fit = compare_statistics(unit, known if precision != "binary" else ())
    with_text = [] if texts is None else _rows_with_text(texts, usable)
    chosen = _draw(with_text, tries, seed)
    to_embed = [texts[row] or "" for row, _ in chosen] if texts is not None else []
    places = [place for _, place in chosen]
    comparisons, skipped = _compare(
        unit[places],
        to_embed,
        encoders,
        fit,
        precision,
        partial(load_plain, trust_remote_code=trust_remote_code),
        progress or SilentProgress(),
    )
    decision = decide(fit, comparisons, [fit.rows[place] for place in places], two_clouds(unit))
    compared = len(places) if comparisons else 0
    looked_at = compared if decision.by_texts else len(unit)
    chance, derived = confidence(decision.verdict, rows=looked_at, texts=decision.by_texts)
    return Identification(
        verdict=decision.verdict,
        encoder=decision.candidates[0].encoder if decision.candidates else None,
        candidates=decision.candidates,
        confidence=chance,
        sure=in_words(chance),
        derived=derived,
        evidence=(
            *describe_evidence(given, norms, precision, fit, comparisons, decision, metadata or {}),
            *skipped,
        ),
        by_texts=decision.by_texts,
        rows=len(unit),
        compared=compared,
        dimension=given.shape[1],
        normalised=all_unit(norms),
        rounding=precision,
    )


def _check(vectors: Floats, texts: Sequence[str | None] | None, tries: int) -> None:
    if vectors.ndim != 2 or not vectors.size:
        raise DataError(f"Vectors form a table [n, D] with at least one row, not {list(vectors.shape)}.")
    if texts is not None and len(texts) != len(vectors):
        raise UsageError(
            f"There are {len(texts)} texts for {len(vectors)} vectors; each needs its own, or None."
        )
    if tries < 1:
        raise UsageError(f"At least one text is embedded, not {tries}.")


def _rows_with_text(texts: Sequence[str | None], usable: Any) -> list[tuple[int, int]]:
    """Rows that have a text: their number among all, and among the usable."""
    places = np.cumsum(usable) - 1
    return [
        (row, int(places[row])) for row, text in enumerate(texts) if text and text.strip() and usable[row]
    ]


def _draw(rows: list[tuple[int, int]], count: int, seed: int) -> list[tuple[int, int]]:
    if len(rows) <= count:
        return rows
    drawn = np.random.default_rng(seed).choice(len(rows), count, replace=False)
    return [rows[at] for at in sorted(drawn.tolist())]


def _compare(
    unit: Floats,
    texts: Sequence[str],
    encoders: Sequence[str | Encoder] | None,
    fit: StatisticalFit,
    precision: str | None,
    load: Callable[[str], Encoder],
    progress: Progress,
) -> tuple[list[Comparison], list[Evidence]]:
    """Encoder after encoder, the likeliest first, until every row is reproduced; and what was skipped."""
    if not len(texts) or precision == "binary":
        return [], []
    likely = list(fit.shares)
    tried = list(encoders) if encoders is not None else list[str | Encoder](local_encoders(unit.shape[1]))
    tried.sort(key=lambda one: likely.index(_name(one)) if _name(one) in likely else len(likely))
    done, skipped = list[Comparison](), list[Evidence]()
    for one in tried:
        name = _name(one)
        progress.describe(f"Comparing with {name}")
        try:
            encoder = load(one) if isinstance(one, str) else one
        except UnembedError as error:
            if encoders is not None:
                raise  # somebody asked for this one
            skipped.append(Evidence("skipped", f"{name} could not be compared: {error.message}"))
            continue
        if encoder.info.dimension < unit.shape[1]:
            continue
        done.append(compare_texts(encoder, name, unit, texts, rounding=precision))
        progress.advance()
        if len(frozenset().union(*(comparison.matched for comparison in done))) == len(texts):
            break
    return done, skipped


def _name(encoder: str | Encoder) -> str:
    return encoder if isinstance(encoder, str) else encoder.info.name
