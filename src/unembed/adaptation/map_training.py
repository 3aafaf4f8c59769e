"""Fine-tuning of the closed-form map by what the base's frozen heads make of the mapped vectors.

Only what depends on the vector alone takes part, so that thousands of pairs are learnt from in a second; the
base stays as it is. The map is held near the base's own vectors: the heads' losses alone would fit it to the
kind of text that the pairs are. Pairs set aside stop it where it finds most of their words, and decide
whether it is kept: it must find more than the closed form by twice the difference's standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

import torch
from torch import Tensor

from unembed.adaptation.head_losses import HeadLosses
from unembed.adaptation.tuned_map import LEAST_PAIRS, TunedMap, aside_of, refit, word_shares, words_of
from unembed.errors import UsageError
from unembed.model.adapter import FineTuning
from unembed.model.checkpoint import Checkpoint
from unembed.progress import progress_bar

BATCH = 128
RATE = 5e-4
NOISE = 0.5  # standard deviation, of whitened vectors, whose own is one
ANCHOR = 3.0  # weight of the squared error to the base's own vectors
AVERAGED = 0.97  # of the averaged weights stays at each step
CHECKS = 10  # times that the pairs set aside are looked at
SIGNIFICANT = 2.0  # standard errors


@dataclass(frozen=True)
class Change:
    """What is added to a map: `(x - mean) matrix + shift`."""

    matrix: Tensor  # [p, q]
    shift: Tensor  # [q]

    def __call__(self, centred: Tensor) -> Tensor:
        return centred @ self.matrix + self.shift  # [n, q]


def check_trainable(base: Checkpoint, pairs: int, minutes: float) -> None:
    """Whether there is a time, a head to learn words by, and pairs enough to set some aside."""
    if not 0 < minutes < math.inf:
        raise UsageError(f"Fine-tuning cannot take {minutes:g} minutes.", hint="Give a number like 3.")
    if base.denoiser.lexical is None:
        raise UsageError(
            "The base has no lexical head: nothing says how to fine-tune an adapter.",
            hint="Leave out the minutes: the closed form needs no head.",
        )
    if pairs < LEAST_PAIRS:
        raise UsageError(
            f"{pairs:,} pairs are too few to fine-tune on; {LEAST_PAIRS} are the least.",
            hint="Give more pairs, or leave out the minutes.",
        )


def train_map(
    base: Checkpoint,
    tuned: TunedMap,
    x: Tensor,
    y: Tensor,
    texts: Sequence[str],
    *,
    minutes: float,
    seed: int = 0,
    quiet: bool = True,
) -> tuple[Change, FineTuning]:
    """A change of `tuned` for x [n, p] and y [n, q], vectors of the same texts, and how it came about.

    The closed form that it learns to change knows nothing of the pairs set aside; what it learnt is then good
    for the one of all pairs.
    """
    aside = aside_of(len(x))
    closed = refit(tuned, x[:-aside], y[:-aside])
    training = _Training(base, closed, x[:-aside], y[:-aside], texts[:-aside], seed)
    unseen, words = x[-aside:], words_of(base, texts[-aside:])
    before = word_shares(base, closed(unseen), words)  # [m]
    best, after = training.change(), before
    seconds, began, checked, elapsed = 60 * minutes, monotonic(), 0, 0.0
    with progress_bar("Fine-tuning", total=round(seconds), unit="s", quiet=quiet) as progress:
        while elapsed < seconds:
            training.step(1 - elapsed / seconds)
            now = monotonic() - began
            progress.advance(round(now) - round(elapsed))
            elapsed = now
            if elapsed / seconds * CHECKS >= checked + 1:
                checked = int(elapsed / seconds * CHECKS)
                change = training.change()
                found = word_shares(base, closed(unseen) + change(unseen - closed.ridge.mean), words)
                if found.mean() > after.mean():
                    best, after = change, found
    gain = after - before  # [m]
    error = float(gain.std() / math.sqrt(len(gain)))
    return best, FineTuning(
        minutes=minutes,
        samples=training.samples,
        aside=aside,
        words_before=float(before.mean()),
        words_after=float(after.mean()),
        standard_error=error,
        kept=float(gain.mean()) > SIGNIFICANT * error,
    )


class _Training:
    """The change in whitened coordinates, where every direction of x is equally easy to learn from."""

    def __init__(
        self, base: Checkpoint, closed: TunedMap, x: Tensor, y: Tensor, texts: Sequence[str], seed: int
    ) -> None:
        self._losses, self._targets = HeadLosses(base, texts), y
        self._draw = torch.Generator().manual_seed(seed)
        centred = x - closed.ridge.mean  # [n, p]
        variance, axes = torch.linalg.eigh((centred.T @ centred / len(x)).double())
        spread = variance.clamp(min=0.0) + closed.ridge.strength  # directions of rounding stay quiet
        self._whiten = (axes / spread.sqrt()).float()  # [p, p]
        self._inputs, self._closed = centred @ self._whiten, closed(x)  # [n, p], [n, q]
        self._weights = [torch.zeros(x.shape[1], y.shape[1]), torch.zeros(y.shape[1])]
        self._averaged = [weight.clone() for weight in self._weights]
        for weight in self._weights:
            weight.requires_grad_()
        self._optimiser = torch.optim.Adam(self._weights, betas=(0.9, 0.98))
        self._steps = 0

    @property
    def samples(self) -> int:
        return BATCH * self._steps

    def step(self, rate: float) -> None:
        """Learn from one batch, at a share of the learning rate."""
        matrix, shift = self._weights
        rows = torch.randint(len(self._inputs), (BATCH,), generator=self._draw)  # [B]
        noise = torch.randn(BATCH, self._inputs.shape[1], generator=self._draw)  # [B, p]
        mapped = self._closed[rows] + (self._inputs[rows] + NOISE * noise) @ matrix + shift  # [B, q]
        loss = self._losses(mapped, rows, self._draw)
        loss = loss + ANCHOR * (mapped - self._targets[rows]).square().mean()
        for group in self._optimiser.param_groups:
            group["lr"] = RATE * rate
        self._optimiser.zero_grad()
        loss.backward(inputs=self._weights)  # the base learns nothing
        torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
        self._optimiser.step()
        self._steps += 1
        stays = min(AVERAGED, self._steps / (self._steps + 10))
        for average, weight in zip(self._averaged, self._weights, strict=True):
            average.lerp_(weight.detach(), 1 - stays)

    def change(self) -> Change:
        """The averaged weights, for vectors that are centred and not whitened."""
        matrix, shift = self._averaged
        return Change(self._whiten @ matrix, shift.clone())
