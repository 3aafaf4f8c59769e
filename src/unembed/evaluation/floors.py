"""The floors: what any figure must be compared with before it means that a vector was read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unembed.data.prepared import Split
from unembed.evaluation.samples import RANDOM_TOKENS, SHUFFLE
from unembed.model.vocabulary import Vocabulary
from unembed.progress import Progress, SilentProgress

_CHUNK = 8192  # training vectors compared at once


def random_tokens(
    vocabulary: Vocabulary, lengths: NDArray[np.int64], numbers: NDArray[np.int64], *, seed: int
) -> list[list[int]]:
    """Tokens drawn uniformly from the model's vocabulary (the tokenizer's ids), `lengths` of them."""
    words = vocabulary.token_ids[vocabulary.token_ids >= 0]  # [V]
    return [
        np.random.default_rng([seed, RANDOM_TOKENS, number]).choice(words, size=length).tolist()
        for length, number in zip(lengths.tolist(), numbers.tolist(), strict=True)
    ]


def derangement(n: int, *, seed: int) -> NDArray[np.int64]:  # [n]
    """For each of n texts another one: all of them stand in one random circle. One text has no other."""
    if n < 2:
        raise ValueError("a single text cannot be given another one's vector")
    circle = np.random.default_rng([seed, SHUFFLE]).permutation(n)
    other = np.empty(n, dtype=np.int64)
    other[circle] = np.roll(circle, -1)
    return other


def nearest_texts(
    vectors: NDArray[np.float32], train: Split, *, limit: int, progress: Progress | None = None
) -> NDArray[np.int64]:  # [n]
    """For each vector the index of the training text with the largest cosine, among the first `limit`.

    Prepared data is shuffled, so the first are a random choice. Memory does not grow with the training
    set: it is read in chunks, and `progress` is updated after each.
    """
    progress = progress or SilentProgress()
    queries = _unit(vectors)  # [n, D]
    best = np.full(len(vectors), -np.inf, dtype=np.float32)
    found = np.zeros(len(vectors), dtype=np.int64)
    total = min(limit, len(train))
    for first in range(0, total, _CHUNK):
        rows = np.arange(first, min(first + _CHUNK, total))
        similarity = queries @ _unit(train.vectors(rows)).T  # [n, chunk]
        column = similarity.argmax(axis=1)  # [n]
        value = similarity[np.arange(len(queries)), column]
        better = value > best
        best[better], found[better] = value[better], rows[column[better]]
        progress.describe(f"nearest: {int(rows[-1]) + 1:,} of {total:,} training texts compared")
    return found


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: NDArray[np.float32] = vectors / np.maximum(norms, np.float32(1e-12))
    return out
