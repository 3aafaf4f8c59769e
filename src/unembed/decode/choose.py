"""From logits to tokens: the likeliest, or a sampled one, each with its log-probability."""

from __future__ import annotations

import torch
from torch import Tensor


def likeliest(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest token of each row and its log-probability.  # 2 x [M]"""
    top, token = logits.max(dim=1)
    return token, top - logits.logsumexp(dim=1)


def sampled(logits: Tensor, draw: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """A token of each row, drawn with `draw` [M] in (0, 1), and its log-probability.  # 2 x [M]

    The inverse of the cumulative distribution: one random number per token instead of one per
    vocabulary entry. The log-probability is the model's own, whatever the temperature.
    """
    if temperature == 0.0:
        return likeliest(logits)
    log_norm = logits.logsumexp(dim=1)  # [M]
    if temperature == 1.0:
        weights = (logits - log_norm[:, None]).exp_()  # [M, V]
    else:
        weights = torch.softmax(logits / temperature, dim=1)
    rising = weights.cumsum(dim=1)  # [M, V]
    # Rounding may leave the sum a little off 1; the draw is a share of what it really is.
    token = torch.searchsorted(rising, draw[:, None] * rising[:, -1:]).squeeze(1)  # [M]
    token = token.clamp(max=logits.shape[1] - 1)
    return token, logits.gather(1, token[:, None]).squeeze(1) - log_norm
