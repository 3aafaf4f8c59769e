"""What a search knows of an adapter that it refits: what the base reads of texts, and the map so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unembed.decode.strategy import KnownPairs
from unembed.encoders.base import Encoder
from unembed.model.adapted_checkpoint import AdaptedCheckpoint


@dataclass(frozen=True)
class BaseReading:
    """The base's own encoder costs no call of the one that guides the search."""

    encoder: Encoder
    model: AdaptedCheckpoint
    known: KnownPairs | None = None

    @torch.no_grad()
    def of_texts(self, texts: Sequence[str]) -> Tensor:
        """What the base reads of them: its standardised vectors.  # [n, native_dim]"""
        denoiser = self.model.base.denoiser
        vectors = torch.from_numpy(self.encoder.encode(texts))  # [n, native_dim]
        return denoiser.read(vectors.to(denoiser.output_bias.device)).float().cpu()

    @torch.no_grad()
    def by_adapter(self, vectors: Tensor) -> Tensor:
        """What the adapter makes of vectors [n, D].  # [n, native_dim]"""
        denoiser = self.model.denoiser
        return denoiser.read(vectors.to(denoiser.output_bias.device)).float().cpu()

    def by_regression(self, vectors: Tensor) -> Tensor:
        """The same without the gain that makes it louder.  # [n, native_dim]"""
        shift, gain = self.model.weights.shift, float(self.model.adapter.fit.get("louder", 1.0))
        return shift + (self.by_adapter(vectors) - shift) / gain
