"""The training bound, equation (4), per sample."""

from __future__ import annotations

from torch import Tensor


def weighted_bound(
    cross_entropy: Tensor, rows: Tensor, weight: Tensor, any_masked: Tensor, lengths: Tensor
) -> Tensor:
    """Equation (4) in nats a token, one value a sample.  # [B]

    cross_entropy: [M] `-log p(x0_i | xt, e)` at the masked positions of the whole batch;
    rows: [M] the sample that each belongs to; weight: [B] the schedule's weight at each sample's t;
    any_masked: [B] from `corrupt`. The weight multiplies its own sample's sum and no other's.
    """
    total = cross_entropy.new_zeros(len(weight)).index_add(0, rows, cross_entropy)  # [B]
    return weight * any_masked * total / lengths  # [B]
