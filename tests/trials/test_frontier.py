"""Which settings are worth having: by rule, from the measured points alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unembed.metrics.figure import Figure
from unembed.trials.frontier import Point, frontier, helps, recommend


def point(name: str, leak: float, kept: float, *, wide: float = 0.01) -> Point:
    around = {"low": leak - wide, "high": leak + wide, "n": 100}
    cost = Figure(value=kept, low=kept, high=kept, n=50)
    return Point(name, name, Figure(value=leak, **around), Figure(value=leak / 2, **around), "aware", cost)


NONE = point("none", 0.8, 1.0)


def test_what_is_beaten_is_not_on_the_frontier() -> None:
    good, cheap, bad, same = point("good", 0.3, 0.8), point("cheap", 0.7, 0.99), point("bad", 0.5, 0.7), NONE
    assert [one.setting for one in frontier([bad, good, same, cheap])] == ["none", "cheap", "good"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
def test_the_frontier_beats_everything_else(pairs: list[tuple[float, float]]) -> None:
    points = [point(str(row), leak, kept) for row, (leak, kept) in enumerate(pairs)]
    best = frontier(points)
    assert best
    for one in points:
        assert any(b.leakage.value <= one.leakage.value and b.kept.value >= one.kept.value for b in best)


def test_recommendations_follow_the_figures() -> None:
    lines = recommend([point("cheap", 0.7, 0.99), point("good", 0.3, 0.8)], NONE, None)
    assert len(lines) == 3
    assert "leaks less than no defence, beyond chance, and loses nothing of retrieval" in lines[0]
    assert lines[1].startswith("At most 1% of retrieval lost: cheap. token F1 70.0%")
    assert "At most 25% of retrieval lost: good. token F1 30.0% [29.0%, 31.0%], exact 15.0%" in lines[2]


def test_nothing_is_denied_that_was_measured() -> None:
    # 2 % are lost by what comes second within 5 %: so 1 % is all that can be said.
    lines = recommend([point("second", 0.5, 0.98), point("first", 0.4, 0.96)], NONE, None)
    assert "beyond chance, and loses at most 1% of retrieval." in lines[0]
    assert [line.split(".")[0] for line in lines[1:]] == ["At most 5% of retrieval lost: first"]
    [line] = recommend([point("poor", 0.4, 0.6)], NONE, None)
    assert "beyond chance, and keeps 75% of retrieval." in line


def test_what_is_within_chance_is_not_recommended() -> None:
    vague = point("vague", 0.7, 1.0, wide=0.2)
    assert not helps(vague, NONE)
    [line] = recommend([vague], NONE, None)
    assert line.startswith("Nothing that was measured leaks less")
