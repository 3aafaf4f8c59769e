"""Evaluation: how much a model recovers, beside the floors, with every row and every setting stored.

>>> import unembed
>>> report = unembed.evaluate(None, "data/short", min_tokens=4, max_tokens=16, known_length=True)
>>> report.tables[0].rows[0].figures["token_f1"]
Figure(value=0.862, low=0.851, high=0.872, n=1000)
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
