"""In which precision a run computes: what its configuration says, or what the device has in hardware."""

from __future__ import annotations

from typing import Literal

import torch

from unembed.compute.precision import Processor

TrainingPrecision = Literal["fp32", "bf16"]
Wanted = Literal["auto", "fp32", "bf16"]


def choose_training_precision(wanted: Wanted, device: torch.device) -> TrainingPrecision:
    """`auto` is bf16 where the device multiplies it in hardware: elsewhere it would be slower, not faster."""
    if wanted != "auto":
        return wanted
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    return "bf16" if device.type == "cpu" and Processor.here().bf16 else "fp32"
