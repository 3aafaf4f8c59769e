"""What an adapter's base reads of a text: the other half of a pair, of which the first is an encoder call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unembed.encoders.base import Encoder
from unembed.model.denoiser import Denoiser


@dataclass(frozen=True)
class BaseReading:
    """The base's own encoder, which costs no call of the one that guides the search, and its blocks."""

    encoder: Encoder
    denoiser: Denoiser

    @torch.no_grad()
    def __call__(self, texts: Sequence[str]) -> Tensor:
        """The standardised vectors of texts.  # [n, native_dim]"""
        vectors = torch.from_numpy(self.encoder.encode(texts))  # [n, native_dim]
        return self.denoiser.read(vectors.to(self.denoiser.output_bias.device)).float().cpu()
