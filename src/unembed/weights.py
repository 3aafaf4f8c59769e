"""How weights lie on disk: in float32, in float16, or matrices in eight bits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import torch
from torch import Tensor

Storage = Literal["float32", "float16", "int8"]
SCALE = ".row_scale"


def pack(
    state: Mapping[str, Tensor], stored_as: Storage, *, whole: Collection[str] = ()
) -> dict[str, Tensor]:
    """The tensors of a file.

    float16 halves it. int8: matrices as `round(127 w / max |row|)` with the rows' scales, the rest as
    float16. What `whole` names stays as it is.
    """
    out: dict[str, Tensor] = {}
    for name, weight in state.items():
        weight = weight.detach().cpu().contiguous()
        if stored_as == "float32" or name in whole or not weight.is_floating_point():
            out[name] = weight
        elif stored_as == "int8" and weight.ndim == 2:
            scale = weight.abs().amax(dim=1).clamp(min=1e-12) / 127  # [N]
            out[name] = (weight / scale[:, None]).round().to(torch.int8)
            out[name + SCALE] = scale
        else:
            out[name] = weight.half()
    return out


def unpack(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a file, in float32."""
    out = {}
    for name, weight in tensors.items():
        if name.endswith(SCALE):
            continue
        if name + SCALE in tensors:
            out[name] = weight.float() * tensors[name + SCALE][:, None]
        else:
            out[name] = weight.float() if weight.is_floating_point() else weight
    return out


def stored_as(tensors: Mapping[str, Tensor]) -> Storage:
    """How the tensors of a file were packed."""
    if any(name.endswith(SCALE) for name in tensors):
        return "int8"
    return "float16" if any(weight.dtype == torch.float16 for weight in tensors.values()) else "float32"
