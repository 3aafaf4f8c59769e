"""What counts as leaked: beside floors, by kind, with intervals that are not too sure."""

from __future__ import annotations

import numpy as np
import pytest
from audit_cases import MakeCase, row

from unembed.audit.findings import find
from unembed.audit.floors_of_rows import nearest_texts, shuffled
from unembed.audit.sampled_store import Planted
from unembed.audit.shares import difference_figure, pooled_figure, share_figure
from unembed.canaries import make_canaries
from unembed.personal import Entity, Kind
from unembed.stores.base import Row

TEXTS = [
    f"the {noun} sees the {other}"
    for noun in ("cat", "dog", "bird", "tree")
    for other in ("ship", "lamp", "book")
]


def test_what_came_back_is_counted_and_the_floor_is_not(make_case_of: MakeCase) -> None:
    case = make_case_of(TEXTS)
    rows = [row(number, text if number % 2 else "nothing at all") for number, text in enumerate(TEXTS)]
    exact, f1 = find(case, rows, None).measures
    assert (exact.name, exact.found, exact.total) == ("exact", 6, 12)
    assert exact.figure.value == 0.5
    assert exact.figure.low is not None
    assert exact.figure.low < 0.5 < (exact.figure.high or 0)
    assert [floor.name for floor in exact.floors] == ["shuffled", "nearest"]
    assert exact.floors[0].figure.value == 0  # no other row's text is this one
    # Two of the words stand in every text: they are guessed, and do not count.
    highest = max(floor.figure.value for floor in f1.floors)
    assert highest > 0.3
    assert f1.leaked.value == pytest.approx(f1.figure.value - highest)


def test_a_text_that_everybody_has_does_not_leak(make_case_of: MakeCase) -> None:
    """An attacker who says the same of every vector has read none of them."""
    case = make_case_of(["the cat sees the ship"] * 12)
    found = find(case, [row(number, "The cat sees the ship.") for number in range(12)], None)
    exact = found.measures[0]
    assert exact.figure.value == 1
    assert exact.leaked.value == 0
    assert exact.floors[0].figure.value == 1


def test_personal_data_by_kind(make_case_of: MakeCase) -> None:
    texts = ["call Anna Berg at 10", "call Tom Hill at 11", "call Eva Stone at 12", "the cat"]
    case = make_case_of(texts)
    entities = {
        0: [Entity(Kind.NAME, "Anna Berg", 5, 14), Entity(Kind.NUMBER, "10", 18, 20)],
        1: [Entity(Kind.NAME, "Tom Hill", 5, 13), Entity(Kind.NUMBER, "11", 17, 19)],
        2: [Entity(Kind.NAME, "Eva Stone", 5, 14)],
    }
    rows = [row(0, "call anna berg at 10"), row(1, "call tom at 17"), row(2, "a stone"), row(3, "the cat")]
    found = find(case, rows, entities)
    kinds = {one.kind: one for one in found.personal}
    assert (kinds["name"].found, kinds["name"].part, kinds["name"].total) == (1, 2, 3)
    assert (kinds["number"].found, kinds["number"].total) == (1, 2)
    pii = next(one for one in found.measures if one.name == "pii")
    assert (pii.found, pii.total, pii.figure.n) == (2, 5, 3)
    assert found.statistics[0]["pii"] == 2
    assert found.statistics[3] == {"exact": 1.0, "f1": 1.0, "pii": 0.0, "pii_total": 0.0}


def test_a_canary_counts_apart(make_case_of: MakeCase) -> None:
    canaries = make_canaries(2, seed=1)
    vector = np.ones(16, dtype=np.float32)
    planted = [Planted(one, Row(one.id, vector, one.text)) for one in canaries]
    case = make_case_of(TEXTS[:4], planted=planted)
    assert case.canaries == [4, 5]
    rows = [row(number, TEXTS[number]) for number in range(4)]
    rows += [row(4, canaries[0].text, canary=canaries[0].id), row(5, "no", canary=canaries[1].id)]
    measures = {one.name: one for one in find(case, rows, None).measures}
    assert (measures["canary"].found, measures["canary"].total) == (1, 2)
    assert measures["exact"].total == 4


def test_the_shuffled_floor_never_compares_a_row_with_itself() -> None:
    others = shuffled(7, seed=0)
    assert len(others) == 6
    assert not (others == np.arange(7)).any()
    assert all(sorted(turn) == list(range(7)) for turn in others.tolist())
    assert shuffled(1, seed=0).shape == (0, 1)


def test_the_nearest_text_is_another_row(make_case_of: MakeCase) -> None:
    case = make_case_of(["the cat sees the ship", "the dog"], others=["the cat sees the lamp", "a stone"])
    assert nearest_texts(case, [0]) == ["the cat sees the lamp"]


def test_an_interval_of_nothing_is_not_nothing() -> None:
    none = share_figure([0.0] * 30, seed=0)
    assert (none.low, none.value) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 30))  # about three of n
    every = share_figure([1.0] * 30, seed=0)
    assert every.high == 1.0
    assert every.low == pytest.approx(0.05 ** (1 / 30))
    assert difference_figure([0.0] * 30, seed=0).high == none.high
    pooled = pooled_figure(np.array([1.0, 0, 0]), np.array([2.0, 0, 2]), seed=0)
    assert (pooled.value, pooled.n) == (0.25, 2)  # a row without anything to find does not count
