"""One of two processes that train together: `python one_of_two.py CONFIG.json GRADIENTS.safetensors`.

Writes the averaged gradients of the first update, just before the optimiser uses them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from accelerate import Accelerator
from safetensors.torch import save_file

from unembed.training import training_loop
from unembed.training.config import TrainConfig


def train(config: TrainConfig, gradients: Path) -> None:
    """Train, and write the averaged gradients of the first update to a file."""
    original = Accelerator.clip_grad_norm_
    taken: list[bool] = []

    def clip(self: Accelerator, parameters: Any, *rest: Any) -> torch.Tensor:
        assert self.num_processes == int(os.environ.get("WORLD_SIZE", "1"))
        if not taken and self.is_main_process:
            module = self._models[0]
            names = getattr(module, "module", module).named_parameters()
            save_file({n: p.grad.clone() for n, p in names if p.grad is not None}, gradients)
            taken.append(True)
        out: torch.Tensor = original(self, parameters, *rest)
        return out

    with mock.patch.object(Accelerator, "clip_grad_norm_", clip):
        training_loop.train(config)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(TrainConfig(**json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2]))
    torch.distributed.destroy_process_group()
