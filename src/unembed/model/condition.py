"""How the vector reaches the blocks: equations (5) to (9).

Everything here that depends on the vector alone is computed once per sequence; a denoising step adds
only the time's part.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.compute.packed_linear import PackedLinear
from unembed.model.blocks import MODULATIONS, embedding
from unembed.model.config import DenoiserConfig

TIME_FEATURES = 64


class Standardise(nn.Module):
    """Centres and whitens the vectors: `(e - mean) W`, so that every direction speaks equally loud.

    Embedding spaces are far from round: a few directions hold most of the variance and little of the
    wording. Until `fit` is called it only scales unit vectors to unit variance. An adapter puts a map from
    another encoder's vectors in W's place, `(e - mean) W + shift` (model/adapter.py).
    """

    mean: Tensor
    whiten: Tensor
    shift: Tensor | None

    def __init__(self, dim: int, out: int | None = None) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        whiten = torch.zeros(dim, out or dim)
        whiten.fill_diagonal_(math.sqrt(dim))
        self.register_buffer("whiten", whiten)
        self.register_buffer("shift", None if out is None else torch.zeros(out))

    @torch.no_grad()
    def fit(self, vectors: Tensor, floor: float = 1e-4) -> None:
        """Measure mean and covariance on a sample of vectors [N, D].

        Directions with less than `floor` of the largest variance are not amplified any further: there
        is nothing but rounding in them.
        """
        mean = vectors.double().mean(dim=0)  # [D]
        centred = vectors.double() - mean  # [N, D]
        covariance = centred.T @ centred / max(len(vectors) - 1, 1)  # [D, D]
        variance, axes = torch.linalg.eigh(covariance)
        variance = variance.clamp(min=float(variance.max()) * floor)  # [D]
        self.mean.copy_(mean)
        self.whiten.copy_((axes / variance.sqrt()) @ axes.T)

    def forward(self, e: Tensor) -> Tensor:
        out = (e - self.mean) @ self.whiten  # [B, out]
        return out if self.shift is None else out + self.shift


class Condition(nn.Module):
    """From the vector (and the length) to gamma and beta of every norm; from the time likewise."""

    def __init__(self, config: DenoiserConfig) -> None:
        super().__init__()
        hidden, out = config.block.hidden, config.layers * MODULATIONS * config.block.hidden
        self.layers = config.layers
        self.limit = config.modulation_limit
        self.project_in = PackedLinear(config.standard_dim, hidden)
        self.project_out = PackedLinear(hidden, hidden)
        self.null = nn.Parameter(torch.zeros(hidden))
        self.length = embedding(config.max_length + 1, hidden) if config.length == "given" else None
        self.vector_modulation = PackedLinear(hidden, out)
        self.time_modulation = PackedLinear(TIME_FEATURES, out) if config.time_input else None

    def initialise(self) -> None:
        """Zero modulation: every block starts as a plain block."""
        for layer in (self.vector_modulation, self.time_modulation):
            if layer is not None:
                nn.init.zeros_(layer.weight)
                nn.init.zeros_(layer.bias)
        if self.length is not None:
            nn.init.normal_(self.length.weight, std=0.02)

    def forward(self, e: Tensor, lengths: Tensor, dropped: Tensor | None = None) -> Tensor:
        """Equations (5) and (7): gamma_c and beta_c of every layer.  # [B, layers, 4, D]

        `dropped` marks the samples that must do without the vector (classifier-free guidance).
        """
        c = self.project_out(F.gelu(self.project_in(e)))  # [B, D]
        if dropped is not None:
            c = torch.where(dropped[:, None], self.null.to(c.dtype), c)
        if self.length is not None:
            c = c + self.length(lengths).to(c.dtype)
        return self._by_layer(self.vector_modulation(c))

    def at_time(self, modulation: Tensor, t: Tensor) -> Tensor:
        """Equations (6), (8), (9): add gamma_t and beta_t.  # [B, layers, 4, D]"""
        if self.time_modulation is None:
            return modulation
        return modulation + self._by_layer(self.time_modulation(time_features(t).to(modulation.dtype)))

    def _by_layer(self, flat: Tensor) -> Tensor:
        width = flat.shape[1] // (self.layers * MODULATIONS)
        if self.limit:
            flat = self.limit * torch.tanh(flat / self.limit)
        return flat.view(len(flat), self.layers, MODULATIONS, width)  # [B, layers, 4, D]


def time_features(t: Tensor) -> Tensor:
    """Sines and cosines of t at geometrically spaced frequencies.  # [B, TIME_FEATURES]"""
    half = TIME_FEATURES // 2
    frequency = torch.exp(-math.log(10_000.0) * torch.arange(half, device=t.device) / half)  # [half]
    angle = 1000.0 * t[:, None] * frequency  # [B, half]
    return torch.cat([angle.cos(), angle.sin()], dim=1)
