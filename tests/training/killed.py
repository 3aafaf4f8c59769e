"""A training process that kills itself where it is told to: `python killed.py CONFIG.json WHERE`.

WHERE is a step's number (killed right after that update), `state` (before the second state's pointer is
written) or `swap` (between the two renames of a checkpoint folder).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

from unembed.training import trainer_state
from unembed.training.config import TrainConfig
from unembed.training.training_loop import train


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    torch.set_num_threads(1)
    config = TrainConfig(**json.loads(Path(sys.argv[1]).read_text()))
    where = sys.argv[2]
    seen = []

    def watch(kind: str, progress: Any, figures: dict[str, Any]) -> None:
        if kind == "step" and str(progress.step) == where:
            die()

    def write_json(path: Path, value: Any) -> None:
        seen.append(path)
        if len(seen) == 2:
            die()
        original(path, value)

    def rename(self: Path, target: Path) -> Path:
        if self.name == "latest.partial":
            die()
        return renamed(self, target)

    original, renamed = trainer_state.write_json, Path.rename
    if where == "state":
        trainer_state.write_json = write_json
    if where == "swap":
        Path.rename = rename  # type: ignore[method-assign]
    train(config, watch)


main()
