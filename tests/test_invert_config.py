"""What a quality stands for, and what was given instead."""

from __future__ import annotations

import pytest

from unembed.invert_config import PARALLEL, QUALITIES, InvertConfig
from unembed.strategies import STRATEGIES


@pytest.mark.parametrize("quality", QUALITIES)
def test_a_quality_sets_what_is_not_given(quality):
    usual = QUALITIES[quality]
    assert InvertConfig(quality=quality).effort() == tuple(usual)
    assert InvertConfig(quality=quality, steps=3, num_lengths=2, hypotheses=7).effort() == (3, 2, 7)


def test_more_quality_is_more_work():
    fast, balanced, best = (QUALITIES[name] for name in ("fast", "balanced", "best"))
    assert all(a <= b <= c for a, b, c in zip(fast, balanced, best, strict=True))
    assert len({fast, balanced, best}) == 3


def test_strategies_with_numbers_of_steps_of_their_own_keep_them():
    assert InvertConfig(strategy="sequential").effort()[0] is None
    assert InvertConfig().effort("euler")[0] is None
    assert InvertConfig(strategy="entropy-bound").effort()[0] == QUALITIES["balanced"].steps


def test_the_parallel_strategies_exist():
    assert set(STRATEGIES) >= PARALLEL
