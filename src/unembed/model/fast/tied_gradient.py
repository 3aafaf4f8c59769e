"""The token matrix stands at the input and at the output; in training, one gradient serves both uses. Exact.

The output's gradient is as large as the matrix, the input's touches a few rows. By default autograd makes
two, the second one from hundreds of megabytes of zeros, and adds them up.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


class TiedGradient:
    """One step's use of a matrix at both ends. The input's backward pass comes last, and takes both."""

    def __init__(self, weight: Tensor) -> None:
        self._weight = weight  # [V + 1, D]
        self.gradient: Tensor | None = None  # of the output, until the input has its own

    def output(self, dtype: torch.dtype | None = None) -> Tensor:
        """The matrix, for an output layer that computes in `dtype`.  # [V + 1, D]"""
        out: Tensor = _Output.apply(self._weight, self, dtype or self._weight.dtype)  # type: ignore[no-untyped-call]
        return out

    def look_up(self, entries: Tensor) -> Tensor:
        """Rows of the matrix, for the input; the output must depend on them.  # [B, L, D]"""
        out: Tensor = _Input.apply(self._weight, entries, self)  # type: ignore[no-untyped-call]
        return out


class _Output(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, tie: TiedGradient, dtype: torch.dtype) -> Tensor:
        ctx.tie, ctx.dtype = tie, weight.dtype
        return weight.view_as(weight).to(dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        ctx.tie.gradient = gradients[0].to(ctx.dtype)
        return None, None, None


class _Input(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, entries: Tensor, tie: TiedGradient) -> Tensor:
        ctx.save_for_backward(entries)
        ctx.tie, ctx.rows = tie, len(weight)
        return F.embedding(entries, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (entries,) = ctx.saved_tensors
        few = gradients[0].flatten(0, -2)  # [B * L, D]
        whole = ctx.tie.gradient
        ctx.tie.gradient = None
        if whole is None:
            whole = few.new_zeros(ctx.rows, few.shape[1])  # [V + 1, D]
        return whole.index_add_(0, entries.flatten(), few), None, None
