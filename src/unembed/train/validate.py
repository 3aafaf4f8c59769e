"""How good the averaged weights are: the bound on a fixed corruption, and free-running recovery.

Free-running means from all positions masked, the length known, confidence decoding: what an attacker
would get, not what a teacher lets through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from unembed.decode.denoising_loop import decode_all
from unembed.decode.registry import make_decoder
from unembed.diffusion.corrupt import corrupt, sample_times
from unembed.diffusion.loss import weighted_bound
from unembed.diffusion.schedule import schedule_named
from unembed.metrics.accuracy import token_hits
from unembed.metrics.exact import exact_match
from unembed.metrics.f1 import token_f1
from unembed.model.checkpoint import Checkpoint
from unembed.model.denoiser import Denoiser
from unembed.train.dataset import TrainingTexts

VALIDATION_SEED = 20_240
CHUNK = 64


class Sample(NamedTuple):
    """Free-running recovery of some validation texts."""

    accuracy: float  # positional token accuracy
    f1: float  # multiset token F1
    exact: float  # the whole text, normalised
    n: int
    examples: list[tuple[str, str]]  # original, recovered


def spread_indices(texts: TrainingTexts, size: int) -> np.ndarray:
    """The same `size` texts whenever it is asked."""
    return np.unique(np.linspace(0, len(texts) - 1, size).astype(np.int64))


@torch.no_grad()
def validation_bound(
    denoiser: Denoiser, checkpoint: Checkpoint, texts: TrainingTexts, *, size: int, noise: str
) -> float:
    """Equation (4) in nats a token, over the full vocabulary, on a corruption that never changes."""
    schedule = schedule_named(noise)
    generator = torch.Generator().manual_seed(VALIDATION_SEED)
    device = denoiser.output_bias.device
    vocabulary, config = checkpoint.vocabulary, denoiser.config
    bounds = []
    chosen = spread_indices(texts, size)
    for length in np.unique(texts.lengths[chosen]) if not vocabulary.fixed_length else [0]:
        bucket = chosen[texts.lengths[chosen] == length] if length else chosen
        for start in range(0, len(bucket), CHUNK):
            part = bucket[start : start + CHUNK]
            entries = vocabulary.encode(texts.tokens(part))
            if vocabulary.fixed_length:
                entries = vocabulary.close(entries, texts.lengths[part], config.max_length)
            x0 = torch.from_numpy(entries)
            positions = torch.full((len(part),), x0.shape[1])
            t = sample_times(len(part), generator)
            masked, any_masked = corrupt(schedule.alpha(t), positions, x0.shape[1], generator)
            xt = x0.masked_fill(masked, config.mask_id).to(device)  # [B, L]
            vectors = torch.from_numpy(texts.vectors(part)).to(device)
            lengths = torch.from_numpy(texts.lengths[part]).to(device)
            prepared = denoiser.prepare(vectors, lengths)
            at = masked.flatten().nonzero().squeeze(1).to(device)  # [M]
            rows = at // x0.shape[1]  # [M]
            h = denoiser.hidden(xt, t.to(device), prepared, at=at)  # [M, D]
            logits = denoiser.logits(h, rows, prepared, xt=xt)  # [M, V]
            entropy = F.cross_entropy(logits.float(), x0.to(device).flatten()[at], reduction="none").cpu()
            bounds.append(weighted_bound(entropy, rows.cpu(), schedule.weight(t), any_masked, positions))
    return float(torch.cat(bounds).mean())


@torch.no_grad()
def free_running(
    denoiser: Denoiser, checkpoint: Checkpoint, texts: TrainingTexts, *, size: int, show: int = 3
) -> Sample:
    """Recover texts from nothing but vector and length, one token a pass, the surest first."""
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
