"""One of two processes that train together: `python one_of_two.py CONFIG.json GRADIENTS.safetensors`.

Writes the averaged gradients of the first update, just before the optimiser uses them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors.torch import save_file

from unembed.training import training_loop
from unembed.training.config import TrainConfig


def main() -> None:
    torch.set_num_threads(1)
    original = Accelerator.clip_grad_norm_
    taken: list[bool] = []

    def clip(self: Accelerator, parameters: Any, *rest: Any) -> torch.Tensor:
        assert self.num_processes == int(os.environ.get("WORLD_SIZE", "1"))
        if not taken and self.is_main_process:
            module = self._models[0]
            names = getattr(module, "module", module).named_parameters()
            save_file({n: p.grad.clone() for n, p in names if p.grad is not None}, sys.argv[2])
            taken.append(True)
        out: torch.Tensor = original(self, parameters, *rest)
        return out

    Accelerator.clip_grad_norm_ = clip
    training_loop.train(TrainConfig(**json.loads(Path(sys.argv[1]).read_text())))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


main()
