"""What the base makes of texts: what another encoder's vectors of them are mapped to.

It depends on the texts alone. So whoever fits several adapters on the same texts computes it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.encoders.surrogate_encoder import Surrogate
from unembed.model.checkpoint import Checkpoint


class TextFeatures(NamedTuple):
    """Texts, the base's standardised vectors of them, and its surrogate's hidden states."""

    texts: list[str]
    standard: Tensor  # [n, native_dim]
    hidden: Tensor | None  # [n, the surrogate's width]; None: the base has none

    def first(self, count: int) -> TextFeatures:
        """Of the first texts."""
        hidden = None if self.hidden is None else self.hidden[:count]
        return TextFeatures(self.texts[:count], self.standard[:count], hidden)


@torch.no_grad()
def text_features(base: Checkpoint, texts: Sequence[str], vectors: NDArray[np.float32]) -> TextFeatures:
    """The features of texts whose vectors by the base's own encoder [n, native_dim] are given."""
    standard = base.denoiser.read(torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32)))
    hidden = None
    if base.has_surrogate:
        surrogate: Surrogate = base.surrogate
        hidden = torch.from_numpy(surrogate.hidden(list(texts)))
    return TextFeatures(list(texts), standard, hidden)
