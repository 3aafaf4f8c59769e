"""The precision of matrix products, chosen by what the processor has.

Weights, sums, norms and softmaxes stay float32. What changes is the products' inputs: bfloat16 keeps eight
bits of each number, int8 rounds each row to 255 steps. Both need instructions of their own to be faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch

from unembed.invert_config import PrecisionChoice

Precision = Literal["fp32", "bf16", "int8"]

# What oneDNN may use by ONEDNN_MAX_CPU_ISA, where it names less than AVX-512 with VNNI and bf16.
_WITHOUT_VNNI = {"SSE41", "AVX", "AVX2", "AVX512_CORE"}
_WITHOUT_BF16 = _WITHOUT_VNNI | {"AVX2_VNNI", "AVX512_CORE_VNNI"}


@dataclass(frozen=True)
class Processor:
    """The instructions that decide which precision is fast."""

    vnni: bool  # int8 products, also AMX's
    bf16: bool  # bfloat16 products, also AMX's

    @classmethod
    @cache
    def here(cls) -> Processor:
        """This machine's; it is asked once."""
        return cls.detect()

    @classmethod
    def detect(cls) -> Processor:
        """What torch sees, less what `ONEDNN_MAX_CPU_ISA` and `ATEN_CPU_CAPABILITY` forbid."""
        allowed = os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper()
        wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
        amx = _has("_is_amx_tile_supported")
        return cls(
            vnni=wide and allowed not in _WITHOUT_VNNI and (amx or _has("_is_vnni_supported")),
            bf16=wide and allowed not in _WITHOUT_BF16 and (amx or _has("_is_avx512_bf16_supported")),
        )


def _has(question: str) -> bool:
    """torch's own look at the processor; an older torch that cannot say it counts as no."""
    ask = getattr(torch.cpu, question, None)
    return bool(ask is not None and ask())


def choose_precision(
    wanted: PrecisionChoice, device: torch.device | str = "cpu", processor: Processor | None = None
) -> Precision:
    """The precision that is computed in: what was asked for, or by `auto` the best one that costs nothing.

    On a CPU `auto` is bf16 where the processor has it, else fp32. int8 is faster still and is never chosen
    by itself: docs/speed.md says what it costs. Elsewhere than on a CPU everything is float32.
    """
    if torch.device(device).type != "cpu" or not torch._C._has_mkldnn:
        return "fp32"
    processor = processor or Processor.here()
    if wanted == "bf16" and not processor.bf16:
        return "fp32"  # emulated, it would be slower and no better
    if wanted != "auto":
        return wanted
    return "bf16" if processor.bf16 else "fp32"


_current: ContextVar[Precision | None] = ContextVar("precision", default=None)


@contextmanager
def computing(precision: Precision | None) -> Iterator[None]:
    """Within it, products of weights use this precision's kernels. Also a decorator.

    None is plain PyTorch: what training does, and an encoder whose vectors are the measurement.
    """
    token = _current.set(precision)
    try:
        yield
    finally:
        _current.reset(token)


def current_precision() -> Precision | None:
    """What `computing` says here."""
    return _current.get()
