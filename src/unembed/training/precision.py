"""In which precision a run computes: what its configuration says, or what the device has in hardware."""

from __future__ import annotations

from typing import Literal

import torch

Precision = Literal["fp32", "bf16"]
Wanted = Literal["auto", "fp32", "bf16"]


def choose_precision(wanted: Wanted, device: torch.device) -> Precision:
    """`auto` is bf16 where the device multiplies it in hardware: elsewhere it would be slower, not faster."""
    if wanted != "auto":
        return wanted
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    return "bf16" if device.type == "cpu" and processor_has_bf16() else "fp32"


def processor_has_bf16() -> bool:
    """Whether this processor multiplies bf16 (AVX-512 BF16 or AMX), as far as torch can tell."""
    questions = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, question, lambda: False)()) for question in questions)
