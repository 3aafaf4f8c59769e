"""The summary: the tables, and what they were measured on, in words."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from unembed.evaluation.config import EvaluateConfig
from unembed.evaluation.metric_figures import Figures
from unembed.evaluation.tables import Tables, TargetFacts
from unembed.evaluation.variants import GUIDED, Plan
from unembed.invert_config import InversionOptions
from unembed.report.document import Report
from unembed.version import __version__

_PACKAGES = ("torch", "numpy", "scipy", "sacrebleu", "rouge-score", "transformers", "tokenizers")


def summarise(
    config: EvaluateConfig,
    plan: Plan,
    described: Sequence[dict[str, Any]],
    figures: Figures,
    *,
    trained: Sequence[dict[str, str]],
    about: dict[str, Any],
) -> Report:
    """The report of a run. `described` is what each target says of itself, `trained` what of its training."""
    targets = [
        TargetFacts(one["label"], _facts(one) | more, one["step"])
        for one, more in zip(described, trained, strict=True)
    ]
    tables = Tables(plan, figures, targets, _notes(config, described)).all(lengths=config.lengths)
    base, guide = described[0], about.get("guide")
    return Report(
        title=f"Evaluation of {base['label']}",
        about={**about, "batch": config.batch, "versions": _versions()},
        facts={
            "Model": f"{base['label']}, {base['parameters'] / 1e6:.1f}M parameters, {base['model'][:12]}",
            "Data": f"{config.split} split of {base['data'][:12]}, {base['encoder']} vectors of "
            f"{base['dimension']:,} dimensions{_range(config)}, n = {base['samples']:,}, seed {config.seed}",
            "Length": _length(config),
            "Decoding": _decoding(config, base),
            **({} if guide is None else {"Guide": _guide(guide)}),
        },
        tables=tables,
    )


def _range(config: EvaluateConfig) -> str:
    """Which lengths were drawn, if not all."""
    if config.max_tokens is not None:
        return f", texts of {config.min_tokens} to {config.max_tokens} tokens"
    return f", texts of {config.min_tokens} tokens or more" if config.min_tokens > 1 else ""


def _decoding(config: EvaluateConfig, base: dict[str, Any]) -> str:
    """How the base was decoded: what a figure means depends on all of it."""
    options = InversionOptions(
        strategy=config.strategy, quality=config.quality, steps=config.steps, num_lengths=config.num_lengths
    )
    options = options.with_effort()
    parts = [config.strategy, f"quality {config.quality}"]
    parts.append(f"{options.steps or 'the strategy’s own number of'} steps")
    if not config.known_length:
        parts.append(f"{options.num_lengths} lengths")
    if options.shortlist:
        parts.append(f"a shortlist of {options.shortlist:,} words")
    if config.ranking != "score" and base["identity"].get("surrogate") and config.strategy != GUIDED:
        parts.append(f"the best of {options.hypotheses} hypotheses by the surrogate")
        if options.refine:
            parts.append(f"{options.refine} rounds of refining")
    parts.append(base["identity"]["auto_precision"] if config.precision == "auto" else config.precision)
    return ", ".join([*parts, f"batches of {config.batch}"])


def _guide(guide: dict[str, Any]) -> str:
    return ", ".join([guide["name"], f"weights {guide['digest'][:12]}", *guide.get("options", ())])


def _length(config: EvaluateConfig) -> str:
    if config.known_length:
        return "known: the model was given the number of tokens"
    return "unknown: the model had to predict the number of tokens"


def _notes(config: EvaluateConfig, described: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """What stands under every table."""
    notes = [f"Length {_length(config)}."]
    if config.split == "train":
        notes.append("These are training texts: the figures say what was memorised.")
    elif not all(one["trained_on_this_data"] for one in described):
        notes.append("Not every model was trained on this data: its training texts may overlap with these.")
    return tuple(notes)


def _facts(described: dict[str, Any]) -> dict[str, str]:
    """What table 1 says about a model."""
    return {
        "Encoder": described["encoder"],
        "Dim": f"{described['dimension']:,}",
        "Vocab": f"{described['vocabulary']:,}",
        "Params": f"{described['parameters'] / 1e6:.1f}M",
        "Steps": "–" if described["step"] is None else f"{described['step']:,}",
    }


def _versions() -> dict[str, str]:
    found = {"unembed": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
