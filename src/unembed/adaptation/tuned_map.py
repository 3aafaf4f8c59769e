"""The map from another encoder's vectors to the base's, with the strength and gain that the base reads best.

A regression that errs least is not the one that serves best. Most directions of a standardised vector say
little about the words, so that leave-one-out errors ask for too much regularisation; and what a regression
cannot tell it leaves at the mean, while the blocks have only seen vectors at full strength, and read timid
ones as texts without a subject. So some pairs are set aside, and of several strengths and gains those are
taken with which the base's lexical head finds the most of their words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unembed.model.checkpoint import Checkpoint
from unembed.model.ridge import Ridge, RidgePath

ENERGY = 1.0  # of the mapped vectors, relative to the base's own, where there is too little to choose by
LEAST_PAIRS = 500  # to choose by
SET_ASIDE = 0.1  # of the pairs
MOST_ASIDE = 500
WEAKER = (1.0, 0.3, 0.1, 0.03)  # than the strength of the least error
ENERGIES = (0.0, 0.5, 0.8, 1.0, 1.3)  # 0: as the regression leaves it


@dataclass(frozen=True)
class TunedMap:
    """`y ~ louder * (x - mean) matrix + shift`, and how it was chosen."""

    ridge: Ridge
    louder: float
    energy: float
    words: float | None  # share of the set-aside texts' words that the lexical head finds

    def __call__(self, x: Tensor) -> Tensor:
        return (x - self.ridge.mean) @ (self.louder * self.ridge.matrix) + self.ridge.shift  # [n, q]


@torch.no_grad()
def fit_map(
    base: Checkpoint, x: Tensor, y: Tensor, texts: Sequence[str], *, most_aside: int = MOST_ASIDE
) -> TunedMap:
    """The map from x [n, p] to y [n, q], where x and y are vectors of the same texts.

    At most `most_aside` pairs are set aside to choose by: the more, the longer it takes.
    """
    whole = RidgePath(x, y)
    least = whole.best()
    if base.denoiser.lexical is None or len(x) < LEAST_PAIRS:
        # So few rows are predicted far better than others: only what each is without itself says how loud.
        return TunedMap(least, _gain(whole.left_out(least.strength), least.shift, y, ENERGY), ENERGY, None)
    aside = aside_of(len(x), most_aside)
    part = RidgePath(x[:-aside], y[:-aside])
    words = words_of(base, texts[-aside:])
    best: tuple[float, float, float] | None = None
    for weaker in WEAKER:
        some = part.at(weaker * least.strength * part.spread / whole.spread, explained=math.nan)
        for energy in ENERGIES:
            gain = loudness(some, x[:-aside], y[:-aside], energy)
            found = found_words(base, TunedMap(some, gain, energy, None)(x[-aside:]), words)
            if best is None or found > best[0]:
                best = (found, weaker, energy)
    assert best is not None
    found, weaker, energy = best
    ridge = whole.at(weaker * least.strength)
    return TunedMap(ridge, loudness(ridge, x, y, energy), energy, found)


def aside_of(pairs: int, most: int = MOST_ASIDE) -> int:
    """How many pairs, the last ones, are set aside to choose by."""
    return min(most, int(SET_ASIDE * pairs))


def refit(tuned: TunedMap, x: Tensor, y: Tensor) -> TunedMap:
    """The map with the same strength and energy, from other pairs."""
    ridge = RidgePath(x, y).at(tuned.ridge.strength, explained=math.nan)
    return TunedMap(ridge, loudness(ridge, x, y, tuned.energy), tuned.energy, None)


def loudness(ridge: Ridge, x: Tensor, y: Tensor, energy: float) -> float:
    """The gain with which the mapped vectors have `energy` times the energy of y; never below one."""
    return _gain(ridge(x), ridge.shift, y, energy)


def _gain(mapped: Tensor, shift: Tensor, y: Tensor, energy: float) -> float:
    return max(1.0, math.sqrt(energy * _energy(y - shift) / max(_energy(mapped - shift), 1e-12)))


def _energy(vectors: Tensor) -> float:
    return float(vectors.square().mean())


def words_of(base: Checkpoint, texts: Sequence[str]) -> list[Tensor]:
    """Each text's words as entries of the model's vocabulary."""
    entry = {int(token): number for number, token in enumerate(base.vocabulary.token_ids)}
    encoded = base.tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [torch.tensor(sorted({entry[i] for i in one.ids if i in entry})) for one in encoded]


def found_words(base: Checkpoint, standard: Tensor, words: Sequence[Tensor]) -> float:
    """The share of each text's words among as many that the lexical head holds likeliest, mean over texts."""
    return float(word_shares(base, standard, words).mean())


@torch.no_grad()
def word_shares(base: Checkpoint, standard: Tensor, words: Sequence[Tensor]) -> Tensor:
    """That share of each text that has words, for vectors [n, native_dim].  # [m]"""
    assert base.denoiser.lexical is not None
    logits = base.denoiser.lexical(standard.to(base.denoiser.dtype))  # [n, V]
    shares = [
        torch.isin(row.topk(len(some)).indices, some).float().mean()
        for row, some in zip(logits, words, strict=True)
        if len(some)
    ]
    return torch.stack(shares) if shares else torch.zeros(1)
