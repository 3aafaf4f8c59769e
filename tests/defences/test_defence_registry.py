"""Defences by name, and as they are typed."""

from __future__ import annotations

import pytest
from defence_cases import some_vectors

from unembed.defences import make_defence, parse_defence
from unembed.errors import DataError, UsageError


def test_typed_parameters_are_read() -> None:
    assert parse_defence("gaussian:sigma=0.02").describe() == {"method": "gaussian", "sigma": 0.02}
    both = parse_defence("mixing:weight=0.25, neighbours=3").describe()
    assert (both["weight"], both["neighbours"]) == (0.25, 3)
    assert parse_defence("none").describe() == {"method": "none"}


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("gausian", "Did you mean 'gaussian'"),
        ("gaussian:sigm=1", "Did you mean 'sigma'"),
        ("gaussian:sigma", "not PARAMETER=VALUE"),
        ("gaussian:sigma=0,sigma=1", "twice"),
        ("gaussian:sigma=-1", "at least 0"),
        ("gaussian:sigma=much", "must be a number"),
        ("gaussian:sigma=nan", "finite"),
        ("dp-gaussian:epsilon=2,mechanism=classical", "below 1 only"),
        ("binary:bits=2", "Its parameters: none"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(typed: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_defence(typed)
    assert message in str(caught.value)


def test_whole_numbers_may_come_as_floats() -> None:
    assert make_defence("pq", subvector=4.0).describe()["subvector"] == 4


@pytest.mark.parametrize("name", ["pq", "learnt"])
def test_a_fit_that_failed_does_not_count(name: str) -> None:
    defence = make_defence(name)
    with pytest.raises(DataError, match="at least"):
        defence.fit(some_vectors(50), seed=0)
    with pytest.raises(UsageError, match="must be fitted"):
        defence.apply(some_vectors(5))
