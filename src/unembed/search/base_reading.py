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
    def of_vectors(self, vectors: Tensor) -> Tensor:
        """What the adapter's regression makes of vectors [n, D], before its gain.  # [n, native_dim]"""
        denoiser, shift = self.model.denoiser, self.model.weights.shift
        read = denoiser.read(vectors.to(denoiser.output_bias.device)).float().cpu()
        return shift + (read - shift) / float(self.model.adapter.fit.get("louder", 1.0))
