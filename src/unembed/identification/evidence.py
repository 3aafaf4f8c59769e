"""What speaks for a verdict, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unembed.encoders.registry import list_encoders
from unembed.identification.compare_statistics import StatisticalFit
from unembed.identification.compare_texts import Comparison
from unembed.identification.decide import Decision
from unembed.identification.known_encoders import WIDESPREAD, named_in
from unembed.identification.number_format import all_unit
from unembed.identification.verdict import Evidence
from unembed.vectors.arrays import Floats


def describe_evidence(
    given: Floats,
    norms: Floats,
    precision: str | None,
    fit: StatisticalFit,
    comparisons: Sequence[Comparison],
    decision: Decision,
    metadata: Mapping[str, str],
) -> tuple[Evidence, ...]:
    """Everything that was looked at, in the order in which it was."""
    found = [_dimension(given.shape[1]), _norms(norms)]
    if len(norms) < len(given):
        left = len(given) - len(norms)
        found.append(
            Evidence("unusable", f"{left} vectors are zero, NaN or infinite and were left out.", left)
        )
    if precision is not None:
        found.append(Evidence("rounding", f"The numbers were rounded to {precision}."))
    found += _statistics(fit)
    found += [_texts(one) for one in comparisons]
    if decision.remark is not None:
        found.append(Evidence("remark", decision.remark))
    found += _metadata(metadata, decision)
    return tuple(found)


def _dimension(dimension: int) -> Evidence:
    known = [entry.name for entry in list_encoders() if entry.dimension == dimension]
    says = f"{dimension} numbers"
    if known:
        says += f": known here {', '.join(known)}"
    if dimension in WIDESPREAD:
        says += f"; elsewhere {WIDESPREAD[dimension]}"
    return Evidence("dimension", f"{says}.", dimension)


def _norms(norms: Floats) -> Evidence:
    if all_unit(norms):
        return Evidence("norms", "Every vector has length 1: normalised.", 1.0)
    middle = float(np.median(norms))
    low, high = np.quantile(norms, [0.05, 0.95])
    return Evidence("norms", f"Lengths are about {middle:.4g} ({low:.4g} to {high:.4g}): raw.", middle)


def _statistics(fit: StatisticalFit) -> list[Evidence]:
    if not fit.scores:
        return [Evidence("statistics", "No encoder with statistics makes vectors of this dimension.")]
    shares = fit.shares
    if not shares:
        return [Evidence("statistics", "The statistics of no known encoder fit.", 0.0)]
    count = len(fit.rows)
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    rest = sum(name is None for name in fit.rows) / count
    none = f", none {rest:.0%}" if rest else ""
    return [Evidence("statistics", f"Of {count} vectors fit {told}{none}.", next(iter(shares.values())))]


def _texts(one: Comparison) -> Evidence:
    count, same = len(one.cosines), len(one.matched)
    cut = f", cut from {one.truncated_from} numbers" if one.truncated_from else ""
    ways = "; ".join(
        f"{len(match.rows)} with {match.preparation}" for match in one.matches if match.preparation
    )
    says = (
        f"{one.encoder}{cut}: {same} of {count} texts give their vectors again{f' ({ways})' if ways else ''}"
    )
    if same < count:
        says += f"; cosine to the own text {one.cosine:.3f}, to others {one.others:.3f}"
    return Evidence("cosine", f"{says}.", one.cosine)


def _metadata(metadata: Mapping[str, str], decision: Decision) -> list[Evidence]:
    name = named_in(metadata.values())
    if name is None:
        return []
    found = {one.encoder.partition("#")[0] for one in decision.candidates}
    if not found:
        return [Evidence("metadata", f"The store itself names {name}; nothing here confirms it.")]
    if found == {name}:
        return [Evidence("metadata", f"The store itself names {name} as well.")]
    return [Evidence("metadata", f"The store itself names {name}: that does not fit what was found.")]
