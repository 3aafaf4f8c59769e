"""The calibration: fits what is there to fit, belongs to one model, and is honest about its error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from audit_cases import MakeCase, row

from unembed.audit.calibration import (
    CALIBRATION_NAME,
    LONG,
    PLAIN,
    WITH_ENCODER,
    AttackerCalibration,
    Calibration,
    Logistic,
    OtherKind,
    load_calibration,
    model_digest,
    read_calibration,
    row_features,
)
from unembed.audit.estimates import estimate_right
from unembed.errors import DataError
from unembed.inverter import Inverter
from unembed.model.bundled import BUNDLED
from unembed.storage import write_json


def calibration(model: str = "digest") -> Calibration:
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 3))
    y = (x[:, 2] + 0.3 * random.normal(size=400) > 0).astype(float)
    fitted = Logistic.fit(PLAIN, x, y)
    tested = OtherKind(
        kind="others", n=50, expected_exact=0.5, observed_exact=0.4, expected_f1=0.6, observed_f1=0.65
    )
    one = AttackerCalibration(n=400, exact=fitted, f1=fitted, tested=(tested,))
    return Calibration(model=model, made_on={"some": 400}, attackers={"vectors": one}, long=None)


def test_a_logistic_map_is_calibrated_on_what_it_was_made_on() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(3000, 2))
    true = 1 / (1 + np.exp(-(0.5 + 2 * x[:, 0] - x[:, 1])))
    fitted = Logistic.fit(("a", "b"), x, (random.random(3000) < true).astype(float))
    fresh = random.normal(size=(3000, 2))
    expected = 1 / (1 + np.exp(-(0.5 + 2 * fresh[:, 0] - fresh[:, 1])))
    assert np.abs(fitted(fresh) - expected).mean() < 0.03
    # Shares count too, and nothing but failures has a finite answer.
    assert np.abs(Logistic.fit(("a", "b"), x, true)(x) - true).max() < 0.02
    assert Logistic.fit(("a", "b"), x, np.zeros(3000))(x).max() < 0.01


def test_another_models_calibration_is_refused(toy_inverter: Inverter, toy_model: Path) -> None:
    checkpoint = Inverter.from_pretrained(toy_model).checkpoint
    assert load_calibration(checkpoint) is None
    try:
        write_json(toy_model / CALIBRATION_NAME, calibration().model_dump(mode="json"))
        assert load_calibration(checkpoint) is None  # its digest is another
        own = calibration(model_digest(checkpoint))
        write_json(toy_model / CALIBRATION_NAME, own.model_dump(mode="json"))
        assert load_calibration(checkpoint) == own
        (toy_model / CALIBRATION_NAME).write_text("{}", encoding="utf-8")
        with pytest.raises(DataError, match="is not a calibration"):
            load_calibration(checkpoint)
    finally:
        (toy_model / CALIBRATION_NAME).unlink()


def test_without_texts_the_share_of_right_ones_is_estimated(make_case_of: MakeCase) -> None:
    case = make_case_of([None] * 20)
    assert not case.with_texts
    rows = [row(number, "the cat", surrogate_cosine=2.0 * (number % 2) - 1) for number in range(20)]
    found = estimate_right(case, rows)
    assert found is not None
    assert found.exact is None
    assert found.basis.startswith("not calibrated for this model")
    object.__setattr__(case, "calibration", calibration())
    found = estimate_right(case, rows)
    assert found is not None
    assert found.exact is not None
    assert 0.2 < found.exact.value < 0.8
    # Never surer than the calibration was on another kind of text.
    assert found.exact.low is not None
    assert found.exact.value - found.exact.low >= 0.1 - 1e-9
    assert "others" in found.basis


def test_features_need_all_that_they_name() -> None:
    rows = [row(0, "a", surrogate_cosine=0.9), row(1, "b", surrogate_cosine=0.8)]
    x = row_features(rows, [3, 4], PLAIN)
    assert x is not None
    assert x.shape == (2, 3)
    assert row_features(rows, [3, 4], WITH_ENCODER) is None
    near = row_features([row(0, "a", surrogate_cosine=0.9, encoder_cosine=0.999)], [3], WITH_ENCODER)
    assert near is not None
    assert near[0, 3] == pytest.approx(3, abs=0.01)


def test_what_ships_is_a_calibration() -> None:
    """Of the bundled model or of an earlier one; if it is the bundled one's, it was tested on other kinds."""
    path = BUNDLED / CALIBRATION_NAME
    if not path.exists():
        pytest.skip("the bundled model has no calibration: python benchmarks/audit_calibration.py makes it")
    found = read_calibration(path)
    assert {"vectors", "surrogate"} <= set(found.attackers)
    assert found.long is None or found.long.features == LONG
    assert all(len(one.tested) >= 3 for one in found.attackers.values())
    assert not set(found.made_on) & {test.kind for one in found.attackers.values() for test in one.tested}
