"""Corruption, equation (2), conditioned on at least one mask: a sample that masks nothing teaches nothing."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Corruption(NamedTuple):
    """Which positions are masked, and how likely it was that any would be."""

    masked: Tensor  # [B, L] bool
    any_masked: Tensor  # [B] P(at least one mask | t): the importance weight of the conditioning


def sample_times(batch: int, generator: torch.Generator) -> Tensor:
    """Low-discrepancy times in (0, 1): one in each of `batch` equal cells, in random order.  # [B]

    Every batch covers the whole range of noise, which lowers the variance of the bound.
    """
    offset = torch.rand(batch, generator=generator)  # [B]
    cells = torch.randperm(batch, generator=generator)  # [B]
    return ((cells + offset) / batch).clamp(min=1e-6)  # [B]


def corrupt(alpha: Tensor, lengths: Tensor, max_length: int, generator: torch.Generator) -> Corruption:
    """Mask each of a sample's positions with probability `1 - alpha`, given that at least one is masked.

    Drawing from the conditional distribution instead of forcing a mask afterwards keeps the bound
    exact: a sample without masks adds nothing to equation (4), so
    `E[f] = P(at least one) E[f | at least one]`, and `any_masked` is that probability. It also tames
    the weight `1 / t`, because `P(at least one) / t` stays below the sample's length.

    alpha: [B] survival probabilities; lengths: [B] how many of `max_length` positions are real.
    """
    mask_rate = (1.0 - alpha.double()).clamp(min=1e-12)  # [B]
    survival = 1.0 - mask_rate  # [B]
    any_masked = -torch.expm1(lengths * torch.log1p(-mask_rate.clamp(max=1 - 1e-12)))  # [B]

    # The first masked position, given that there is one, is a truncated geometric variable.
    uniform = torch.rand(len(alpha), generator=generator, dtype=torch.double)  # [B]
    first = torch.log1p(-uniform * any_masked) / torch.log(survival.clamp(min=1e-12))  # [B]
    first = first.floor().long().clamp(min=0).minimum(lengths - 1)  # [B]

    # After the first one, the others are independent of it and of each other.
    position = torch.arange(max_length)  # [L]
    draws = torch.rand(len(alpha), max_length, generator=generator, dtype=torch.double)  # [B, L]
    later = (position > first[:, None]) & (draws < mask_rate[:, None])  # [B, L]
    masked = (later | (position == first[:, None])) & (position < lengths[:, None])  # [B, L]
    return Corruption(masked, any_masked.to(alpha.dtype))
