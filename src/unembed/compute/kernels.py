"""A matrix product `x W^T + b` in each precision, its weights packed for oneDNN.

A product of few rows spends most of its time fetching the weights, and a plain row-major matrix is
rearranged on the way, every time. Decoding asks the same matrices again and again, so a copy in the
kernel's own order pays from the second pass on.

Each row of x is rounded by itself, whatever else is in the batch: a text does not depend on its neighbours.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from unembed.compute.precision import Precision, Processor
from unembed.compute.row_sizes import in_known_sizes

MOST_STEPS = 127  # of an int8, on either side of zero
OFFSET = 128  # oneDNN's fast int8 kernels read unsigned inputs
FEW_ROWS = 128  # beyond it float32 weights gain nothing by being packed
INT8_PAYS = 48_000  # rows times outputs; benchmarks/kernels.py


class Packed(Protocol):
    """A weight [N, D] in a kernel's own order."""

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """x: [..., D]; bias: [N]  # [..., N]"""


class PackedFloat32(NamedTuple):
    """Exact up to rounding."""

    weight: Tensor

    @classmethod
    def pack(cls, weight: Tensor) -> PackedFloat32:
        return cls(torch.ops.mkldnn._reorder_linear_weight(weight, FEW_ROWS // 4))

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return _onednn(x, self.weight, bias)


class PackedBfloat16(NamedTuple):
    """Inputs and products of eight bits, sums in float32."""

    weight: Tensor

    @classmethod
    def pack(cls, weight: Tensor) -> PackedBfloat16:
        return cls(torch.ops.mkldnn._reorder_linear_weight(weight.bfloat16(), FEW_ROWS // 4))

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return self.rounded(x, bias).float()

    def rounded(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """The product as the kernel gives it, in bfloat16: for a product that reads nothing else."""
        rows = in_known_sizes(x.reshape(-1, x.shape[-1]), torch.bfloat16)  # [M, D]
        out = _onednn(rows, self.weight, None if bias is None else bias.bfloat16())
        return out[: x.numel() // x.shape[-1]].view(*x.shape[:-1], out.shape[-1])


class PackedInt8(NamedTuple):
    """Inputs rounded row by row, weights column by column; sums in whole numbers.

    `x_i W_j ~ s_i s_j sum_k q_ik Q_jk` with q = round(x / s), s_i = max |x_i| / 127, and the same of W (63
    instead of 127 on a processor without VNNI).
    """

    weight: Tensor
    scale: Tensor  # [N]
    zero: Tensor  # [N] all zeros: the weights are symmetric

    @classmethod
    def pack(cls, weight: Tensor) -> PackedInt8:
        # Without VNNI two products are added up in 16 bits, and larger steps would overflow there.
        most = MOST_STEPS if Processor.here().vnni else MOST_STEPS // 2
        scale = weight.abs().amax(dim=1).clamp_(min=1e-12) / most  # [N]
        steps = (weight / scale[:, None]).round_().to(torch.int8)
        zero = torch.zeros(len(weight), dtype=torch.int32)
        return cls(torch.ops.onednn.qlinear_prepack(steps, None), scale, zero)

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])  # [M, D]
        scale = rows.abs().amax(dim=1, keepdim=True).clamp_(min=1e-12) / MOST_STEPS  # [M, 1]
        # Casting cuts off: half a step more rounds to the nearest.
        shifted = torch.addcmul(_half_above(OFFSET), rows, scale.reciprocal())
        sums = torch.ops.onednn.qlinear_pointwise(
            shifted.to(torch.uint8), 1.0, OFFSET, self.weight, self.scale, self.zero, None,
            1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        out = sums.mul_(scale) if bias is None else torch.addcmul(bias, sums, scale)  # [M, N]
        return out.view(*x.shape[:-1], out.shape[-1])


KERNELS: dict[Precision, type[PackedFloat32] | type[PackedBfloat16] | type[PackedInt8]] = {
    "fp32": PackedFloat32,
    "bf16": PackedBfloat16,
    "int8": PackedInt8,
}


def best_kernel(precision: Precision, rows: int, outputs: int) -> Precision | None:
    """Which kernel a product of so many rows and outputs takes; None: PyTorch's own.

    The rounding of inputs to int8 is work too: it pays where each is used often.
    """
    if precision == "int8" and rows * outputs >= INT8_PAYS:
        return "int8"
    if precision == "bf16" or (precision == "int8" and Processor.here().bf16):
        return "bf16"
    return "fp32" if rows <= FEW_ROWS else None


@cache
def _half_above(number: int) -> Tensor:
    return torch.tensor(number + 0.5)


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return out


@cache
def available() -> bool:
    """Whether this build of torch has oneDNN's products with packed weights."""
    names = [("mkldnn", "_reorder_linear_weight"), ("mkldnn", "_linear_pointwise")]
    names += [("onednn", "qlinear_prepack"), ("onednn", "qlinear_pointwise")]
    return bool(torch._C._has_mkldnn) and all(hasattr(getattr(torch.ops, room), name) for room, name in names)
