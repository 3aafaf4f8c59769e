"""The training bound, equation (4): written here once, for training and for validation."""

from __future__ import annotations

from torch import Tensor


def bound_weights(weight: Tensor, any_masked: Tensor, lengths: Tensor) -> Tensor:
    """What equation (4) multiplies each sample's cross-entropy with, per token of the sample.  # [B]

    weight: [B] the schedule's weight at each sample's t; any_masked: [B] from `corrupt`; lengths: [B].
    """
    return weight * any_masked / lengths


def weighted_bound(cross_entropy: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """Equation (4), one value per sample; in nats per token with the weights above.  # [B]

    cross_entropy: [M] `-log p(x0_i | xt, e)` at the masked positions of the whole batch; rows: [M] the
    sample that each belongs to; weights: [B]. A weight multiplies its own sample's sum and no other's.
    """
    terms = cross_entropy * weights[rows]  # [M]
    return terms.new_zeros(len(weights)).index_add(0, rows, terms)  # [B]
