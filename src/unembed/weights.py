"""How weights lie on disk: in float32, in float16, or the big tables in eight bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

Storage = Literal["float32", "float16", "int8"]
# One row a word: what most of a small model's weights are.
TABLES = ("token.weight", "lexical.down.weight")
SCALE = ".row_scale"


def pack(state: Mapping[str, Tensor], stored_as: Storage) -> dict[str, Tensor]:
    """The tensors of a file.

    int8: the tables as `round(127 w / max |row|)` with the rows' scales, the rest as float16.
    """
    out: dict[str, Tensor] = {}
    for name, weight in state.items():
        weight = weight.detach().cpu()
        if name.startswith("standardise.") or stored_as == "float32":
            # Mean and whitening are small, and everything the model knows comes through them.
            out[name] = weight.float().contiguous() if weight.is_floating_point() else weight.contiguous()
        elif stored_as == "int8" and name in TABLES:
            scale = weight.abs().amax(dim=1).clamp(min=1e-12) / 127  # [V]
            out[name] = (weight / scale[:, None]).round().to(torch.int8)
            out[name + SCALE] = scale.float()
        else:
            out[name] = (weight.half() if weight.is_floating_point() else weight).contiguous()
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
