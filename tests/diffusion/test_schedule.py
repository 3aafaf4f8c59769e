import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unembed.diffusion.schedule import SCHEDULES, Exponential, Linear, schedule_named
from unembed.errors import UsageError

times = st.floats(1e-4, 1.0)


@pytest.mark.parametrize("name", SCHEDULES)
def test_alpha_falls_from_one(name):
    t = torch.linspace(0, 1, 1001, dtype=torch.double)
    alpha = SCHEDULES[name].alpha(t)
    assert alpha[0] == 1.0
    assert (alpha.diff() < 0).all()
    assert 0.0 <= alpha[-1] < 0.01


@pytest.mark.parametrize("schedule", [Linear(), Exponential(), Exponential(rate=2.0)])
@given(t=times)
def test_weight_is_minus_alpha_prime_over_one_minus_alpha(schedule, t):
    time = torch.tensor(t, dtype=torch.double, requires_grad=True)
    alpha = schedule.alpha(time)
    (slope,) = torch.autograd.grad(alpha, time)
    expected = -slope / (1 - alpha.detach())
    torch.testing.assert_close(schedule.weight(time.detach()), expected)


@given(t=times)
def test_the_paper_preset_mixes_the_two(t):
    time = torch.tensor(t, dtype=torch.double)
    assert SCHEDULES["paper"].alpha(time) == Exponential(5.0).alpha(time)
    assert SCHEDULES["paper"].weight(time) == Linear().weight(time)


def test_unknown_schedule_lists_the_known_ones():
    with pytest.raises(UsageError, match="linear, exponential, paper"):
        schedule_named("cosine")
