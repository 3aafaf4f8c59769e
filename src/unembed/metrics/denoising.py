"""Denoising accuracy @ r: teacher-forced, with a share 1 - r of the text's own tokens given.

This is not token accuracy. The model is shown most of the answer and fills in the rest in one pass, so
at a small r it scores high where free-running decoding recovers next to nothing. It is reported under
this name only, with its mask ratio.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.metrics.accuracy import Ratio
from unembed.metrics.base import Pair
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary


class DenoisingAccuracy(Ratio):
    """Masked tokens that the likeliest prediction gets right, pooled. Needs the model, not its texts."""

    name = "denoising_accuracy"

    def __init__(self, ratio: float) -> None:
        self.ratio = ratio
        self.label = f"Denoising accuracy @ {ratio:g}"

    def signature(self, languages: Sequence[str]) -> str:
        return f"teacher-forced, one pass, {self.ratio:g} of the positions masked, the others given"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        raise TypeError("denoising accuracy measures the model, not recovered texts: call denoise()")


@torch.no_grad()
def denoise(
    denoiser: Denoiser,
    vocabulary: Vocabulary,
    vectors: NDArray[np.float32],
    tokens: Sequence[Sequence[int]],
    *,
    ratio: float,
    seeds: Sequence[int],
) -> NDArray[np.float64]:  # [n, 2]
    """For each text: masked tokens that came back, and masked tokens.

    `max(1, round(ratio * length))` positions are masked, chosen by the text's own seed. A model of fixed
    length has end and padding among its positions: they are masked like others, but only the text's own
    tokens are counted. A token outside the model's vocabulary is never right.
    """
    # What is beyond the model's longest text is not asked for.
    lengths = np.array([min(len(row), denoiser.config.max_length) for row in tokens])
    longest = denoiser.config.max_length if vocabulary.fixed_length else int(lengths.max())
    sizes = np.full_like(lengths, longest) if vocabulary.fixed_length else lengths  # [B] positions
    entries = _entries(vocabulary, tokens, lengths, longest)  # [B, L]
    masked = _masks(sizes, longest, ratio, seeds)  # [B, L]
    right = _predict(denoiser, vocabulary, vectors, entries, masked, sizes) == entries[masked]  # [M]
    hits = np.zeros_like(masked)
    hits[masked] = right
    counted = masked & (np.arange(longest) < lengths[:, None])  # [B, L]
    hits &= counted
    return np.stack([hits.sum(axis=1), counted.sum(axis=1)], axis=1).astype(np.float64)


def _entries(
    vocabulary: Vocabulary, tokens: Sequence[Sequence[int]], lengths: NDArray[np.int64], longest: int
) -> NDArray[np.int64]:
    """The texts in the model's vocabulary, filled up to the longest.  # [B, L]"""
    entries = np.full((len(tokens), longest), vocabulary.unknown, dtype=np.int64)
    for row, ids in enumerate(tokens):
        cut = ids[:longest]
        entries[row, : len(cut)] = vocabulary.encode(np.asarray(cut, dtype=np.int64))
    return vocabulary.close(entries, lengths, longest) if vocabulary.fixed_length else entries


def _masks(
    sizes: NDArray[np.int64], longest: int, ratio: float, seeds: Sequence[int]
) -> NDArray[np.bool_]:  # [B, L]
    masked = np.zeros((len(sizes), longest), dtype=bool)
    for row, (size, seed) in enumerate(zip(sizes.tolist(), seeds, strict=True)):
        count = max(1, round(ratio * size))
        masked[row, np.random.default_rng(seed).permutation(size)[:count]] = True
    return masked


def _predict(
    denoiser: Denoiser,
    vocabulary: Vocabulary,
    vectors: NDArray[np.float32],
    entries: NDArray[np.int64],
    masked: NDArray[np.bool_],
    sizes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The likeliest entry at every masked position, in one pass.  # [M]"""
    device = denoiser.token.weight.device
    where = torch.from_numpy(masked).to(device)  # [B, L]
    size = torch.from_numpy(sizes).to(device)  # [B]
    xt = torch.from_numpy(entries).to(device).masked_fill(where, denoiser.config.mask_id)  # [B, L]
    padding = torch.arange(xt.shape[1], device=device) >= size[:, None]  # [B, L]
    t = where.sum(dim=1) / size  # [B]
    e = torch.from_numpy(vectors).to(device)
    logits = denoiser(xt, t, e, size, padding if bool(padding.any()) else None)  # [M, V]
    logits[:, vocabulary.unknown] = -torch.inf
    best: NDArray[np.int64] = logits.argmax(dim=1).cpu().numpy()
    return best
