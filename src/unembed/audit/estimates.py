"""Where the store has no texts: how near the recovered texts come, and how many are right by the
calibration.
"""

from __future__ import annotations

from collections.abc import Sequence

from unembed.audit.attack_rows import AttackRow
from unembed.audit.audit_report import Estimate
from unembed.audit.calibration import PLAIN, WITH_ENCODER, AttackerCalibration, row_features
from unembed.audit.case import Case
from unembed.audit.shares import Doubles, mean_figure
from unembed.metrics.figure import Figure

NOT_CALIBRATED = (
    "not calibrated for this model: how many texts are right cannot be told without texts to compare with"
)


def estimate_right(case: Case, rows: Sequence[AttackRow]) -> Estimate | None:
    """The expected share of right texts among an attacker's rows; None where there are no rows."""
    usual = [row for row in rows if row.canary is None]
    if not usual:
        return None
    seed = case.config.seed
    cosines = [row.encoder_cosine for row in usual if row.encoder_cosine is not None]
    cosine = mean_figure(cosines, seed=seed) if cosines else None
    if case.calibration is None:
        return Estimate(exact=None, f1=None, cosine=cosine, basis=NOT_CALIBRATED)
    with_encoder = len(cosines) == len(usual)
    calibrated = case.calibration.of(usual[0].attacker, with_encoder=with_encoder)
    lengths = [len(ids) for ids in case.tokens([row.recovered or "" for row in usual])]
    x = row_features(usual, lengths, WITH_ENCODER if with_encoder else PLAIN)
    if calibrated is None or x is None:
        return Estimate(exact=None, f1=None, cosine=cosine, basis="not calibrated for this attacker")
    kinds = ", ".join(one.kind for one in calibrated.tested)
    return Estimate(
        exact=_widened(calibrated.exact(x), calibrated, "exact", seed),
        f1=_widened(calibrated.f1(x), calibrated, "f1", seed),
        cosine=cosine,
        basis=f"a calibration on {calibrated.n} texts of {len(case.calibration.made_on)} kinds; intervals "
        f"are widened by its largest error on kinds that it was not made on ({kinds})",
    )


def _widened(expected: Doubles, calibrated: AttackerCalibration, measure: str, seed: int) -> Figure:
    figure, error = mean_figure(expected, seed=seed), calibrated.error(measure)
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    return figure.model_copy(update={"low": max(0.0, low - error), "high": min(1.0, high + error)})
