"""How good the averaged weights are: the bound on a fixed corruption, and free-running recovery.

Free-running means from all positions masked, the length known, confidence decoding: what an attacker
would get, not what a teacher lets through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.denoising_loop import decode_all
from unembed.decode.registry import make_decoder
from unembed.diffusion.corrupt import corrupt, sample_times
from unembed.diffusion.loss import bound_weights, weighted_bound
from unembed.diffusion.schedule import NoiseSchedule, schedule_named
from unembed.metrics.accuracy import token_hits
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1
from unembed.model.checkpoint import Checkpoint
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary
from unembed.training.dataset import TrainingTexts

VALIDATION_SEED = 20_240
CHUNK = 64


class Sample(NamedTuple):
    """Free-running recovery of some validation texts."""

    accuracy: float  # positional token accuracy
    f1: float  # multiset token F1
    exact: float  # the whole text, normalised
    n: int
    examples: list[tuple[str, str]]  # original, recovered


def spread_indices(texts: TrainingTexts, size: int) -> NDArray[np.int64]:
    """`size` texts, spread evenly over all: always the same ones."""
    return np.unique(np.linspace(0, len(texts) - 1, size).astype(np.int64))


@torch.no_grad()
def validation_bound(
    denoiser: Denoiser, checkpoint: Checkpoint, texts: TrainingTexts, *, size: int, noise: str
) -> float:
    """Equation (4) in nats per token, over the full vocabulary, on a corruption that never changes."""
    schedule = schedule_named(noise)
    generator = torch.Generator().manual_seed(VALIDATION_SEED)
    chosen = spread_indices(texts, size)
    bounds = [
        _bound(denoiser, checkpoint.vocabulary, texts, part, schedule, generator)
        for bucket in _buckets(texts.lengths[chosen], mixed=checkpoint.vocabulary.fixed_length)
        for part in np.split(chosen[bucket], range(CHUNK, len(bucket), CHUNK))
    ]
    return float(torch.cat(bounds).mean())


def _buckets(lengths: NDArray[np.int64], *, mixed: bool) -> list[NDArray[np.int64]]:
    """Rows of equal length, shortest first; all rows at once where every text fills the model's length."""
    if mixed:
        return [np.arange(len(lengths))]
    return [np.nonzero(lengths == length)[0] for length in np.unique(lengths)]


def _bound(
    denoiser: Denoiser,
    vocabulary: Vocabulary,
    texts: TrainingTexts,
    part: NDArray[np.int64],
    schedule: NoiseSchedule,
    generator: torch.Generator,
) -> Tensor:
    """The bound of a few texts of one length.  # [B]"""
    device = denoiser.output_bias.device
    entries = vocabulary.encode(texts.tokens(part))
    if vocabulary.fixed_length:
        entries = vocabulary.close(entries, texts.lengths[part], denoiser.config.max_length)
    x0 = torch.from_numpy(entries)  # [B, L]
    positions = torch.full((len(part),), x0.shape[1])  # [B]
    t = sample_times(len(part), generator)  # [B]
    masked, any_masked = corrupt(schedule.alpha(t), positions, x0.shape[1], generator)
    xt = x0.masked_fill(masked, denoiser.config.mask_id)  # [B, L]
    vectors, lengths = torch.from_numpy(texts.vectors(part)), torch.from_numpy(texts.lengths[part])
    logits = denoiser(xt.to(device), t.to(device), vectors.to(device), lengths.to(device))  # [M, V]
    entropy = F.cross_entropy(logits.float(), x0[masked].to(device), reduction="none").cpu()  # [M]
    weights = bound_weights(schedule.weight(t), any_masked, positions)
    return weighted_bound(entropy, masked.nonzero()[:, 0], weights)


@torch.no_grad()
def free_running(
    denoiser: Denoiser, checkpoint: Checkpoint, texts: TrainingTexts, *, size: int, show: int = 3
) -> Sample:
    """Recover texts from nothing but vector and length, one token per pass, the surest first."""
    chosen = spread_indices(texts, size)
    device = denoiser.output_bias.device
    vocabulary = checkpoint.vocabulary
    decoded = decode_all(
        denoiser,
        torch.from_numpy(texts.vectors(chosen)).to(device),
        torch.from_numpy(texts.lengths[chosen]).to(device),
        make_decoder("confidence"),
        banned=[vocabulary.unknown],
        generator=torch.Generator().manual_seed(VALIDATION_SEED),
    )
    originals = texts.texts(chosen)
    truths = [row[row >= 0].tolist() for row in texts.tokens(chosen)]
    entries = [[entry for entry in row if entry >= 0] for row in decoded.tokens.tolist()]
    guesses = [vocabulary.decode(row) for row in entries]
    recovered = checkpoint.texts(entries)
    hits = np.array([token_hits(*pair) for pair in zip(truths, guesses, strict=True)])  # [n, 2]
    return Sample(
        accuracy=float(hits[:, 0].sum() / hits[:, 1].sum()),
        f1=float(np.mean([token_f1(*pair) for pair in zip(truths, guesses, strict=True)])),
        exact=float(np.mean([exact_match(*pair) for pair in zip(originals, recovered, strict=True)])),
        n=len(chosen),
        examples=list(zip(originals, recovered, strict=True))[:show],
    )
