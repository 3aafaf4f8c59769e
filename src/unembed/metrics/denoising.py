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
        raise TypeError("denoising accuracy looks at the model, not at recovered texts: call denoise()")


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
    entries = np.full((len(tokens), longest), vocabulary.unknown, dtype=np.int64)  # [B, L]
    for row, ids in enumerate(tokens):
        cut = ids[:longest]
        entries[row, : len(cut)] = vocabulary.encode(np.asarray(cut, dtype=np.int64))
    sizes = lengths
    if vocabulary.fixed_length:
        entries = vocabulary.close(entries, lengths, longest)
        sizes = np.full_like(lengths, longest)
    masked = np.zeros(entries.shape, dtype=bool)  # [B, L]
    for row, (size, seed) in enumerate(zip(sizes.tolist(), seeds, strict=True)):
        count = max(1, round(ratio * size))
        masked[row, np.random.default_rng(seed).permutation(size)[:count]] = True

    device = denoiser.token.weight.device
    x0 = torch.from_numpy(entries).to(device)  # [B, L]
    where = torch.from_numpy(masked).to(device)  # [B, L]
    size = torch.from_numpy(sizes).to(device)  # [B]
    padding = torch.arange(longest, device=device) >= size[:, None]  # [B, L]
    xt = torch.where(where, denoiser.config.mask_id, x0)  # [B, L]
    prepared = denoiser.prepare(torch.from_numpy(vectors).to(device), size)
    t = where.sum(dim=1) / size  # [B]
    h = denoiser.hidden(xt, t, prepared, padding if bool(padding.any()) else None)  # [B, L, D]
    rows, columns = where.nonzero(as_tuple=True)  # [M]
    logits = denoiser.logits(h[rows, columns], rows, prepared, xt=xt)  # [M, V]
    logits[:, vocabulary.unknown] = -torch.inf
    right = torch.zeros_like(where)
    right[rows, columns] = logits.argmax(dim=1) == x0[rows, columns]
    counted = masked & (np.arange(longest) < lengths[:, None])  # [B, L]
    hits = right.cpu().numpy() & counted
    return np.stack([hits.sum(axis=1), counted.sum(axis=1)], axis=1).astype(np.float64)
