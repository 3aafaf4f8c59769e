"""Products of few rows on the CPU: weights in the order in which oneDNN's kernels read them.

A product of a few rows spends most of its time fetching the weights, and a plain row-major matrix is
rearranged on the way, every time. Decoding asks the same matrices again and again, so a copy in the
kernel's own order pays from the second pass on. With many rows the rearranging no longer shows, and the
plain product is as fast or faster. The result is the same up to rounding.

The copies take as much memory as the weights. They are made where decoding first needs them, never in
training, and live no longer than the weights: changed or moved weights are packed again, and the copies
of those that learn or have left the CPU are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.weak import WeakTensorKeyDictionary

ROWS = 128  # at most; beyond it packed weights gain nothing

_packing: ContextVar[bool] = ContextVar("packing", default=False)


class _Copies(NamedTuple):
    """A weight's packed parts, and what the weight was when they were made."""

    state: tuple[StorageWeakRef, int, int]
    parts: dict[tuple[int, int], Tensor]  # first and last row: that part of the matrix


# By the weight itself, weakly: a model that is gone takes its copies with it, and one that is copied or
# saved does not know of them.
_copies: MutableMapping[Tensor, _Copies] = WeakTensorKeyDictionary()


@contextmanager
def packing() -> Iterator[None]:
    """Within it, products of few rows use packed weights. Also a decorator."""
    token = _packing.set(True)
    try:
        yield
    finally:
        _packing.reset(token)


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, first: int = 0, last: int | None = None
) -> Tensor:
    """`x W^T + b` with the rows from `first` up to `last` of the weight [N, D].  # [..., last - first]"""
    part = (first, len(weight) if last is None else last)
    whole = part == (0, len(weight))
    if bias is not None and len(bias) != part[1] - part[0]:
        bias = bias[part[0] : part[1]]
    product = _product() if _packing.get() else None
    if product is not None and _packable(x, weight):
        if 0 < x.numel() <= ROWS * x.shape[-1]:
            return product(x, _packed(weight, part), bias, "none", [], "")
    elif len(_copies) and (product is not None or torch.is_grad_enabled()):
        _copies.pop(weight, None)
    return F.linear(x, weight if whole else weight[part[0] : part[1]], bias)


class PackedLinear(nn.Linear):
    """`nn.Linear`, packed within `packing()`. Its weights are named and stored like any linear layer's."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def rows(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """Some of its outputs, those from `first` up to `last`.  # [..., last - first]"""
        return linear(x, self.weight, self.bias, first, last)


def _packable(x: Tensor, weight: Tensor) -> bool:
    """Single precision on a CPU that oneDNN serves, where nothing learns."""
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not weight.is_inference()  # such a weight does not count its changes
    )


def _packed(weight: Tensor, part: tuple[int, int]) -> Tensor:
    # The address alone would not do: freed memory is given out again, and `weight.data = other` counts as no
    # change. A storage's number stays taken as long as somebody refers to it, if only weakly.
    storage = StorageWeakRef(weight.untyped_storage())  # type: ignore[no-untyped-call]
    state = (storage, weight.data_ptr(), weight._version)
    copies = _copies.get(weight)
    if copies is None or copies.state != state:
        copies = _copies[weight] = _Copies(state, {})
    if part not in copies.parts:
        rows = weight.detach()[part[0] : part[1]]
        copies.parts[part] = torch.ops.mkldnn._reorder_linear_weight(rows, ROWS // 4)
    return copies.parts[part]


@cache
def _product() -> Callable[..., Tensor] | None:
    """oneDNN's product with packed weights, where this build of torch has it."""
    if not torch._C._has_mkldnn or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)
