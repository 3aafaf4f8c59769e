"""Precision and recall by hand, and the figures that come with the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unembed.errors import DataError, UsageError
from unembed.personal import Entity, Kind
from unembed.personal.detector_score import (
    Labelled,
    count_found,
    interval,
    measured_detector,
    read_labelled,
    score_detector,
)


def test_counts_by_hand() -> None:
    anna, rome = Entity(Kind.NAME, "Anna Berg", 0, 9), Entity(Kind.LOCATION, "Rome", 13, 17)
    labelled = [
        Labelled("Anna Berg in Rome", (anna, rome)),
        Labelled("Mr X, Bob", (Entity(Kind.NAME, "Bob", 6, 9),), ignored=((0, 2),)),
    ]
    found = [
        [Entity(Kind.NAME, "Anna", 0, 4), Entity(Kind.NAME, "Rome", 13, 17)],
        [Entity(Kind.NAME, "Mr", 0, 2), Entity(Kind.DATE, "X", 3, 4)],
    ]
    scores = count_found(labelled, found)
    name, place, date = scores[Kind.NAME], scores[Kind.LOCATION], scores[Kind.DATE]
    assert (name.n, name.found, name.noticed, name.predicted, name.right) == (2, 1, 1, 2, 1)
    assert (name.precision, name.recall, name.f1) == (0.5, 0.5, 0.5)
    assert (place.n, place.found, place.noticed) == (1, 0, 1)
    assert (date.predicted, date.precision, date.recall, date.f1) == (1, 0.0, None, None)


def test_wilson_interval() -> None:
    assert interval(0, 0) is None
    low, high = interval(8, 10) or (0, 0)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)  # Wilson 1927, any table
    assert interval(10, 10) == (pytest.approx(0.7225, abs=1e-3), 1.0)


def test_the_real_detector_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "labelled.jsonl"
    record = {"text": "Mail a@example.com to Mr Smith", "spans": [["EMAIL_ADDRESS", "a@example.com", 5, 18]]}
    record["spans"].append(["TITLE", "Mr", 22, 24])
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    [labelled] = read_labelled(path)
    assert labelled.ignored == ((22, 24),)
    assert score_detector([labelled])[Kind.EMAIL].recall == 1.0


def test_measured_figures_come_with_the_package() -> None:
    measured = measured_detector()
    assert set(measured) == set(Kind)
    assert measured[Kind.NAME].n > 1000
    assert measured[Kind.EMAIL].recall is not None
    assert measured[Kind.NAME].recall is not None
    assert measured[Kind.NAME].recall < measured[Kind.EMAIL].recall


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        read_labelled(tmp_path / "none.jsonl")
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "x"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        read_labelled(path)
