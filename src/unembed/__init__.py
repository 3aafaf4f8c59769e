"""Recover text from embedding vectors, and measure how much they give away.

Importing this package loads neither torch nor a model: public names arrive on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unembed.version import __version__

# Public name -> the module that defines it.
_PUBLIC = {
    "Inverter": "unembed.inverter",
    "InvertConfig": "unembed.invert_config",
    "Inversion": "unembed.decode.result",
    "prepare": "unembed.data.pipeline",
    "train": "unembed.training.entry",
    "adapt": "unembed.adaptation.fit_adapter",
    "evaluate": "unembed.evaluation",
    "load_encoder": "unembed.encoders",
    "UnembedError": "unembed.errors",
}

__all__ = [
    "Inversion",
    "InvertConfig",
    "Inverter",
    "UnembedError",
    "__version__",
    "adapt",
    "evaluate",
    "load_encoder",
    "prepare",
    "train",
]

if TYPE_CHECKING:
    from unembed.adaptation.fit_adapter import adapt
    from unembed.data.pipeline import prepare
    from unembed.decode.result import Inversion
    from unembed.encoders import load_encoder
    from unembed.errors import UnembedError
    from unembed.evaluation import evaluate
    from unembed.invert_config import InvertConfig
    from unembed.inverter import Inverter
    from unembed.training.entry import train


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'unembed' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
