"""From comparisons to a verdict: what may be claimed, and when to claim nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from unembed.identification.compare_statistics import StatisticalFit
from unembed.identification.compare_texts import Comparison
from unembed.identification.two_clouds import TwoClouds
from unembed.identification.verdict import Candidate, Verdict

WHOLE = 0.95  # of the texts must give their vectors for one encoder to have made them all
LEAST_MATCHES = 2  # texts that an encoder must reproduce to count as one of several


@dataclass(frozen=True)
class Decision:
    """The verdict, and whom it names."""

    verdict: Verdict
    candidates: tuple[Candidate, ...]
    by_texts: bool  # whether texts decided
    remark: str | None = None  # what the verdict alone does not say


def decide(
    fit: StatisticalFit,
    comparisons: Sequence[Comparison],
    compared_rows: Sequence[str | None],
    clouds: TwoClouds | None = None,
) -> Decision:
    """`compared_rows` are those of `fit` whose texts were compared, in the order of the comparisons' rows."""
    if comparisons:
        decision = _by_texts(fit, comparisons, compared_rows)
        # A few texts can miss the smaller part of a mixture, which all vectors show.
        if decision is not None and not (decision.verdict is Verdict.IDENTIFIED and fit.mixed):
            return decision
    decision = _by_statistics(fit)
    if decision.verdict is Verdict.UNKNOWN and clouds is not None:
        remark = (
            f"The vectors lie in two clouds ({clouds.share:.0%} and {1 - clouds.share:.0%}; cosines above "
            f"{clouds.within:.2f} inside, below {clouds.across:.2f} across): two encoders, neither known."
        )
        return Decision(Verdict.MIXED, (), False, remark)
    return decision


def _by_texts(
    fit: StatisticalFit, comparisons: Sequence[Comparison], compared_rows: Sequence[str | None]
) -> Decision | None:
    count = len(compared_rows)
    candidates = _matched(comparisons, count)
    encoders = Counter[str]()
    for one in comparisons:
        encoders[one.encoder] += len(one.matched)
    several = [name for name, matches in encoders.items() if matches >= LEAST_MATCHES]
    if len(several) > 1:
        return Decision(Verdict.MIXED, candidates, True)
    elsewhere = max(comparisons, key=lambda one: len(one.elsewhere))
    if several or (candidates and count < LEAST_MATCHES):
        best = next(one for one in comparisons if one.encoder == candidates[0].encoder)
        left = count - len(best.matched)
        if left <= (1 - WHOLE) * count:
            return Decision(Verdict.IDENTIFIED, candidates, True)
        strange = [row for row in range(count) if row not in best.matched]
        if best.elsewhere or sum(_like(compared_rows[row], best.encoder) for row in strange) > left / 2:
            if 2 * len(best.near) > left:
                remark = f"{left} of {count} texts were prepared in another way that is not known."
                return Decision(Verdict.IDENTIFIED, candidates, True, remark)
            remark = f"{left} of {count} vectors are not those of their texts."
            return Decision(Verdict.WRONG_TEXTS, candidates, True, remark)
        return Decision(Verdict.MIXED, candidates, True, f"{left} of {count} vectors are of something else.")
    if elsewhere.elsewhere:
        share = len(elsewhere.elsewhere) / count
        found = Candidate(elsewhere.encoder, share, truncated_from=elsewhere.truncated_from)
        return Decision(Verdict.WRONG_TEXTS, (found,), True, "Vectors are those of other rows' texts.")
    related = [one for one in comparisons if one.related]
    if related:
        nearest = max(related, key=lambda one: one.cosine)
        found = Candidate(
            nearest.encoder, len(nearest.near) / count, nearest.cosine, None, nearest.truncated_from
        )
        remark = (
            "The vectors are near their texts, none is the same: the texts were prepared in an unknown way, "
            "or a relative of this encoder made them."
        )
        return Decision(Verdict.LIKELY, (found,), True, remark)
    leading = fit.leading
    if leading in {one.encoder for one in comparisons}:
        found = _statistical(fit, str(leading))
        return Decision(Verdict.WRONG_TEXTS, (found,), True, "The vectors are not near their texts.")
    return None


def _by_statistics(fit: StatisticalFit) -> Decision:
    if fit.mixed:
        return Decision(Verdict.MIXED, tuple(_statistical(fit, name) for name in fit.shares), False)
    if fit.leading is not None:
        return Decision(Verdict.LIKELY, (_statistical(fit, fit.leading),), False)
    return Decision(Verdict.UNKNOWN, (), False)


def _statistical(fit: StatisticalFit, name: str) -> Candidate:
    return Candidate(name, fit.shares[name], truncated_from=fit.truncated_from[name])


def _matched(comparisons: Sequence[Comparison], count: int) -> tuple[Candidate, ...]:
    """What reproduces texts, by how many it reproduces."""
    found = [
        Candidate(
            match.encoder,
            len(match.rows) / count,
            match.cosine,
            match.preparation or None,
            match.truncated_from,
        )
        for one in comparisons
        for match in one.matches
    ]
    return tuple(sorted(found, key=lambda one: -one.share))


def _like(name: str | None, encoder: str) -> bool:
    return name is not None and name == encoder.partition("#")[0]
