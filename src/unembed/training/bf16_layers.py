"""Training in bf16 with float32 weights: the linear layers see a bf16 copy of theirs, made once per pass.

The copy is part of the computation, so that autograd brings its gradients back to the float32 weights by
itself: clipping, AdamW, the average, checkpoints and the exchange between processes know nothing of bf16.
What flows between the layers is bf16 as well. `torch.autocast` leaves much of it in float32 and casts at
every product instead, which eats most of what the faster products gain.

Tables and norms stay in float32: sums over many rows, such as the gradient of [MASK]'s row, would lose their
small terms. So do matrices of which a step needs only some rows; those rows are cast where they are used.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.func import functional_call


class Bf16Layers(nn.Module):
    """A module whose linear layers compute in bf16, but for those whose names end with one of `keep`."""

    def __init__(self, module: nn.Module, *, keep: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.module = module
        self._names = [
            f"{layer}.{name}"
            for layer, linear in module.named_modules()
            if isinstance(linear, nn.Linear) and not layer.endswith(keep)
            for name, _ in linear.named_parameters()
        ]

    def forward(self, *inputs: Any) -> Any:
        """What the module gives, computed with the copies."""
        copies = {name: self.module.get_parameter(name).to(torch.bfloat16) for name in self._names}
        return functional_call(self.module, copies, inputs)
