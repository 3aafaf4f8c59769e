"""What a quality stands for, and what was given instead."""

from __future__ import annotations

import pytest

from unembed.invert_config import PARALLEL, QUALITIES, Effort, InvertConfig
from unembed.strategies import STRATEGIES


def effort(config):
    made = config.with_effort()
    return {name: getattr(made, name) for name in Effort._fields}


@pytest.mark.parametrize("quality", QUALITIES)
def test_a_quality_sets_what_is_not_given(quality):
    usual = QUALITIES[quality]._asdict()
    assert effort(InvertConfig(quality=quality)) == usual
    given = {"steps": 3, "num_lengths": 2, "hypotheses": 7, "shortlist": 0, "refine": 2}
    assert effort(InvertConfig(quality=quality, **given)) == given


def test_more_quality_is_more_work():
    fast, balanced, best = (QUALITIES[name] for name in ("fast", "balanced", "best"))
    for work in ("steps", "num_lengths", "hypotheses", "refine"):
        assert getattr(fast, work) <= getattr(balanced, work) <= getattr(best, work)
    assert len({fast, balanced, best}) == 3


def test_strategies_with_numbers_of_steps_of_their_own_keep_them():
    assert InvertConfig(strategy="sequential").with_effort().steps is None
    assert InvertConfig().with_effort("euler").steps is None
    assert InvertConfig(strategy="entropy-bound").with_effort().steps == QUALITIES["balanced"].steps


def test_the_parallel_strategies_exist():
    assert set(STRATEGIES) >= PARALLEL


def test_some_of_the_rows() -> None:
    config = InvertConfig(lengths=(4, 5, 6, 7), beginnings=("a", "b", "c", "d"))
    part = config.for_rows(1, 3)
    assert (part.lengths, part.beginnings) == ((5, 6), ("b", "c"))
    assert config.for_rows(3).lengths == (7,)
    one = InvertConfig(lengths=8, beginnings="the")
    assert one.for_rows(2, 4) == one
