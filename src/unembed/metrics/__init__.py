"""How much of the text came back: one metric per file, every figure with its interval and n.

>>> from unembed.metrics import Pair, TokenAccuracy, measure
>>> measure(TokenAccuracy(), [Pair("a b", "a b", (1, 2), (1, 2)), Pair("c d", "c", (3, 4), (3,))])
Figure(value=0.75, low=0.5, high=1.0, n=2)
"""

from __future__ import annotations

from unembed.metrics.accuracy import TokenAccuracy
from unembed.metrics.base import Metric, Pair
from unembed.metrics.bleu import Bleu
from unembed.metrics.chrf import Chrf
from unembed.metrics.cosine import Cosine
from unembed.metrics.exact import ExactMatch
from unembed.metrics.f1 import TokenF1
from unembed.metrics.figure import Figure, estimate, measure
from unembed.metrics.perplexity import Perplexity
from unembed.metrics.registry import METRICS, make_metrics
from unembed.metrics.rouge import RougeL

__all__ = [
    "METRICS",
    "Bleu",
    "Chrf",
    "Cosine",
    "ExactMatch",
    "Figure",
    "Metric",
    "Pair",
    "Perplexity",
    "RougeL",
    "TokenAccuracy",
    "TokenF1",
    "estimate",
    "make_metrics",
    "measure",
]
