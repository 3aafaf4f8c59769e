"""Numbers of rows that oneDNN knows: for a new one it writes a kernel, which takes longer than the product.

A search's batches are of a different size each time. Their rows are filled up to the next of eight sizes an
octave: at most an eighth more of arithmetic, and after a while every kernel is there. So it is for bf16 only
(benchmarks/row_sizes.py).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

FEW = 16  # up to here every number is a size


def known_size(rows: int) -> int:
    """The next size that is not less."""
    if rows <= FEW:
        return rows
    step = 1 << ((rows - 1).bit_length() - 4)
    return -(-rows // step) * step


def in_known_sizes(x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """x: [M, D], as this type and filled up with zeros.  # [M', D], M' >= M"""
    rows, kind = len(x), dtype or x.dtype
    size = known_size(rows)
    if size == rows:
        return x.to(kind)
    if torch.is_grad_enabled() and x.requires_grad:
        return F.pad(x.to(kind), (0, 0, 0, size - rows))
    out = torch.empty(size, x.shape[1], dtype=kind, device=x.device)
    out[:rows] = x
    out[rows:] = 0
    return out
