"""Linear layers whose weights are packed, once, for the precision that is computed in.

The copies are made where decoding first needs them, never in training, and live no longer than the weights:
changed or moved weights are packed again, and the copies of those that learn or have left the CPU are
dropped. They take as much memory as the weights (half of it in bf16, a quarter in int8).
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.weak import WeakTensorKeyDictionary

from unembed.compute.kernels import KERNELS, Packed, PackedBfloat16, available, best_kernel
from unembed.compute.precision import Precision, current_precision
from unembed.compute.row_sizes import in_known_sizes


class _Copies(NamedTuple):
    """A weight's packed parts, and what the weight was when they were made."""

    state: tuple[StorageWeakRef, int, int]
    parts: dict[tuple[int, int, Precision], Packed]  # first and last row: that part of the matrix


# By the weight itself, weakly: a model that is gone takes its copies with it, and one that is copied or
# saved does not know of them.
_copies: MutableMapping[Tensor, _Copies] = WeakTensorKeyDictionary()


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, first: int = 0, last: int | None = None
) -> Tensor:
    """`x W^T + b` with the rows from `first` up to `last` of the weight [N, D].  # [..., last - first]"""
    part = (first, len(weight) if last is None else last)
    whole = part == (0, len(weight))
    if bias is not None and len(bias) != part[1] - part[0]:
        bias = bias[part[0] : part[1]]
    kernel = _kernel(x, weight, part[1] - part[0])
    if kernel is not None:
        return _packed(weight, part, kernel).product(x, bias)
    return _plain(x, weight if whole else weight[part[0] : part[1]], bias)


class PackedLinear(nn.Linear):
    """`nn.Linear`, packed within `computing(...)`. Its weights are named and stored as any linear layer's."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def rows(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """Some of its outputs, those from `first` up to `last`.  # [..., last - first]"""
        return linear(x, self.weight, self.bias, first, last)


def feed_forward(x: Tensor, up: PackedLinear, down: PackedLinear) -> Tensor:
    """`down(gelu(up(x)))`, number for number.  # [..., D]

    The first product in bf16 is made of eight bits, and the second one reads no more. What lies between them,
    the widest of a block's tensors, need not become float32 and go back.
    """
    if _kernel(x, up.weight, up.out_features) == "bf16" == _kernel(x, down.weight, down.out_features):
        first, last = (_packed(layer.weight, (0, layer.out_features), "bf16") for layer in (up, down))
        assert isinstance(first, PackedBfloat16)
        return last.product(F.gelu(first.rounded(x, up.bias)), down.bias)
    out: Tensor = down(F.gelu(up(x)))
    return out


def _kernel(x: Tensor, weight: Tensor, outputs: int) -> Precision | None:
    """The kernel for this product here and now; None: PyTorch's own."""
    precision = current_precision()
    if precision is not None and available() and _packable(x, weight):
        return best_kernel(precision, x.numel() // x.shape[-1], outputs) if x.numel() else None
    if len(_copies) and (precision is not None or torch.is_grad_enabled()):
        _copies.pop(weight, None)
    return None


def _plain(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """PyTorch's own product; a training's in bf16 on a processor is oneDNN's too."""
    if x.dtype != torch.bfloat16 or x.device.type != "cpu" or not x.numel():
        return F.linear(x, weight, bias)
    rows = x.reshape(-1, x.shape[-1])  # [M, D]
    return F.linear(in_known_sizes(rows), weight, bias)[: len(rows)].view(*x.shape[:-1], len(weight))


def _packable(x: Tensor, weight: Tensor) -> bool:
    """Single precision on a CPU, where nothing learns."""
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not weight.is_inference()  # such a weight does not count its changes
    )


def _packed(weight: Tensor, part: tuple[int, int], precision: Precision) -> Packed:
    # The address alone would not do: freed memory is given out again, and `weight.data = other` counts as no
    # change. A storage's number stays taken as long as somebody refers to it, if only weakly.
    storage = StorageWeakRef(weight.untyped_storage())  # type: ignore[no-untyped-call]
    state = (storage, weight.data_ptr(), weight._version)
    copies = _copies.get(weight)
    if copies is None or copies.state != state:
        copies = _copies[weight] = _Copies(state, {})
    key = (*part, precision)
    if key not in copies.parts:
        copies.parts[key] = KERNELS[precision].pack(weight.detach()[part[0] : part[1]])
    return copies.parts[key]
