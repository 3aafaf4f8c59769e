"""The metrics by name, in the order of the tables."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from unembed.encoders.base import Encoder
from unembed.errors import UsageError
from unembed.metrics.accuracy import TokenAccuracy
from unembed.metrics.base import Metric
from unembed.metrics.bleu import Bleu
from unembed.metrics.causal import CausalModel
from unembed.metrics.chrf import Chrf
from unembed.metrics.cosine import Cosine
from unembed.metrics.exact import ExactMatch
from unembed.metrics.f1 import TokenF1
from unembed.metrics.perplexity import Perplexity
from unembed.metrics.rouge import RougeL
from unembed.metrics.written import AsWritten, IgnoringCase

# What needs nothing but the texts; the encoder's and the language model's metrics come on top.
_PLAIN: dict[str, Callable[[], Metric]] = {
    "token_accuracy": TokenAccuracy,
    "token_f1": TokenF1,
    "exact_match": ExactMatch,
    "bleu": Bleu,
    "rouge_l": RougeL,
    "chrf": Chrf,
    "as_written": AsWritten,
    "ignoring_case": IgnoringCase,
}
METRICS = (*_PLAIN, "cosine", "perplexity")
# For some texts and some encoders only, or with a language model: who wants them asks for them.
ON_REQUEST = ("chrf", "as_written", "ignoring_case", "perplexity")


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, or an error that lists the known ones. Hyphens are as good as underscores."""
    chosen = tuple(dict.fromkeys(name.strip().replace("-", "_") for name in names))
    for name in chosen:
        if name not in METRICS:
            close = difflib.get_close_matches(name, METRICS, n=1)
            guess = f"Did you mean '{close[0]}'? " if close else ""
            raise UsageError(
                f"There is no metric '{name}'.", hint=f"{guess}The metrics: {', '.join(METRICS)}."
            )
    return tuple(name for name in METRICS if name in chosen)


def make_metrics(
    names: Sequence[str], *, encoder: Encoder | None = None, causal: CausalModel | None = None
) -> list[Metric]:
    """The metrics of these names; the cosine needs the encoder, perplexity a causal model."""
    out: list[Metric] = []
    for name in check_names(names):
        if name == "cosine":
            if encoder is None:
                raise UsageError(
                    "The cosine needs the encoder that made the vectors.",
                    hint="Pass encoder=, or leave the cosine out.",
                )
            out.append(Cosine(encoder))
        elif name == "perplexity":
            if causal is None:
                raise UsageError(
                    "Perplexity needs a causal language model, by name or path.",
                    hint="Pass causal=load_causal(NAME), or leave perplexity out.",
                )
            out.append(Perplexity(causal))
        else:
            out.append(_PLAIN[name]())
    return out
