"""Figures as people read them."""

from __future__ import annotations

import pytest

from unembed.audit.figure_text import cost


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.034, "0.03 s"), (0.5, "0.50 s"), (2.34, "2.3 s"), (90.0, "90.0 s")]
)
def test_an_attack_that_is_quick_is_not_said_to_take_no_time(seconds: float, told: str) -> None:
    assert cost(0, 10, None, seconds) == f"no encoder call, {told} a vector here"
