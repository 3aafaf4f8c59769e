"""The surest evidence: embed the texts again, and see whether the same vectors come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.encoders.base import Encoder
from unembed.errors import UnembedError
from unembed.identification.preparations import PLAIN, Preparation, preparations
from unembed.vectors.arrays import Floats

# A vector that is embedded again differs by kernels and precision (1e-5), or by its rounding. Another
# prefix, or one word less, makes more.
SAME = {None: 0.9995, "float16": 0.9995, "bfloat16": 0.9995, "int8": 0.995, "binary": 2.0}
# A text's own vector must be nearer than others' by this share of the way to 1: the space is the right one.
RELATED = 0.15
# By this much for an encoder to be named: networks with a common ancestor (all-MiniLM-L6-v2, gte-small)
# share some of their space.
NAMED = 0.5
FEW = 12  # rows on which preparations are tried
PREPARED_SHARE = 0.3  # of them must match


@dataclass(frozen=True)
class Match:
    """The rows that one encoder reproduces, after one preparation of their texts."""

    encoder: str
    preparation: str
    truncated_from: int | None
    rows: tuple[int, ...]
    cosine: float  # median over them


@dataclass(frozen=True)
class Comparison:
    """What embedding the texts with one encoder showed."""

    encoder: str
    truncated_from: int | None
    matches: tuple[Match, ...]
    cosines: Floats  # [n] of each vector and its own text, embedded as it is
    others: float  # median of a vector and another row's text
    elsewhere: tuple[int, ...]  # rows whose vector is that of another row's text

    @property
    def matched(self) -> frozenset[int]:
        return frozenset(row for match in self.matches for row in match.rows)

    @property
    def cosine(self) -> float:
        return float(np.median(self.cosines))

    @property
    def near(self) -> frozenset[int]:
        """Rows nearer to their own text than to others, if not the same: of the same space, at least."""
        rows = np.flatnonzero(_nearer(self.cosines, self.others)).tolist()
        return frozenset(rows) - self.matched

    @property
    def related(self) -> bool:
        """Whether vectors are so near their texts that this encoder, or a relative of it, made them."""
        return self.cosine - self.others > NAMED * (1 - self.others)


def compare_texts(
    encoder: Encoder, name: str, unit: Floats, texts: Sequence[str], *, rounding: str | None
) -> Comparison:
    """Embed the texts with an encoder, and compare with the vectors [n, D] of length 1, row by row."""
    dimension, same = unit.shape[1], SAME[rounding]
    cut = encoder.info.dimension if encoder.info.dimension > dimension else None
    plain = _embedded(encoder, texts, dimension)  # [n, D]
    table = unit @ plain.T  # [n, n] row: a vector; column: a text
    own = np.diagonal(table)  # [n]
    matches = []
    left = np.flatnonzero(own < same)
    if len(left) < len(own):
        rows = np.flatnonzero(own >= same)
        matches.append(Match(name, PLAIN.name, cut, tuple(rows.tolist()), float(np.median(own[rows]))))
    others = float(np.median(table[~np.eye(len(table), dtype=bool)])) if len(table) > 1 else 0.0
    # Rows of another encoder do not come nearer by any preparation: those that are near are tried.
    near = left[_nearer(own[left], others)]
    if len(near):
        matches += _prepared(encoder, name, cut, unit, texts, near, same)
    matched = {row for match in matches for row in match.rows}
    elsewhere = [
        row for row in range(len(table)) if row not in matched and table[row].max(initial=0.0) >= same
    ]
    return Comparison(name, cut, tuple(matches), own.astype(np.float32), others, tuple(elsewhere))


def _prepared(
    encoder: Encoder,
    name: str,
    cut: int | None,
    unit: Floats,
    texts: Sequence[str],
    rows: NDArray[np.int64],
    same: float,
) -> list[Match]:
    """The preparations that make rows match, each with its rows; the one with most matches first."""
    found: list[Match] = []
    few = rows[:FEW]
    for one in preparations([texts[row] for row in few], _tokenizer(encoder)):
        own = _own_cosines(encoder, one, unit, texts, few)
        if np.mean(own >= same) < PREPARED_SHARE:
            continue
        own = _own_cosines(encoder, one, unit, texts, rows)
        hits = rows[own >= same]
        found.append(Match(name, one.name, cut, tuple(hits.tolist()), float(np.median(own[own >= same]))))
        rows = rows[own < same]
        few = rows[:FEW]
        if not len(rows):
            break
    return found


def _own_cosines(
    encoder: Encoder, one: Preparation, unit: Floats, texts: Sequence[str], rows: NDArray[np.int64]
) -> Floats:  # [len(rows)]
    embedded = _embedded(encoder, [one.apply(texts[row]) for row in rows], unit.shape[1])
    cosines: Floats = (unit[rows] * embedded).sum(axis=1)
    return cosines


def _embedded(encoder: Encoder, texts: Sequence[str], dimension: int) -> Floats:  # [n, D]
    vectors = encoder.encode(texts)[:, :dimension]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)


def _nearer(own: Floats, others: float) -> NDArray[np.bool_]:
    return np.asarray(own - others > RELATED * (1 - others))


def _tokenizer(encoder: Encoder) -> Tokenizer | None:
    try:
        return encoder.tokenizer()
    except UnembedError:
        return None
