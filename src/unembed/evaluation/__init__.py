"""Evaluation: how much a model recovers, beside the floors, with every row and every setting kept.

>>> import unembed
>>> report = unembed.evaluate("models/compact", "data/short", samples=200)
>>> report.tables[0].rows[0].figures["token_accuracy"]
Figure(value=0.511, low=0.489, high=0.533, n=200)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unembed.evaluation.config import EvaluateConfig

if TYPE_CHECKING:
    from unembed.evaluation.run_evaluation import evaluate

__all__ = ["EvaluateConfig", "evaluate"]


def __getattr__(name: str) -> Any:
    """`evaluate` loads torch, which the settings (and so the command's help) do without."""
    if name != "evaluate":
        raise AttributeError(f"module 'unembed.evaluation' has no attribute {name!r}")
    from unembed.evaluation.run_evaluation import evaluate

    return evaluate
