import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unembed.diffusion.corrupt import corrupt, sample_times

seeds = st.integers(0, 2**31)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(seed=seeds, batch=st.integers(1, 64))
def test_times_fill_every_cell_of_the_unit_interval(seed, batch):
    t = sample_times(batch, generator(seed))
    assert sorted((t * batch).clamp(max=batch - 1e-4).floor().int().tolist()) == list(range(batch))


@given(seed=seeds, rate=st.floats(0.0, 1.0), length=st.integers(1, 32))
def test_every_sample_masks_something_and_only_real_positions(seed, rate, length):
    alpha = torch.full((50,), 1.0 - rate)
    lengths = torch.randint(1, length + 1, (50,), generator=generator(seed))
    masked, any_masked = corrupt(alpha, lengths, length, generator(seed))
    assert masked.any(dim=1).all()
    assert not masked[torch.arange(length) >= lengths[:, None]].any()
    assert ((any_masked > 0) & (any_masked <= 1)).all()


@settings(max_examples=30)
@given(seed=seeds, rate=st.floats(0.001, 0.999), length=st.integers(1, 16))
def test_the_mask_rate_is_one_minus_alpha_at_every_position(seed, rate, length):
    """Conditioning on one mask raises the rate by 1 / P(any); the importance weight takes it back."""
    n = 20_000
    alpha = torch.full((n,), 1.0 - rate)
    masked, any_masked = corrupt(alpha, torch.full((n,), length), length, generator(seed))
    per_position = masked.double().mean(dim=0) * any_masked[0].double()  # [L]
    sigma = any_masked[0].double() * (0.25 / n) ** 0.5
    assert ((per_position - rate).abs() < 5.5 * sigma + 1e-6).all()


def test_positions_are_masked_independently():
    """Joint frequencies of all 2^3 masks match the conditional product distribution."""
    n, rate = 200_000, 0.3
    masked, _ = corrupt(torch.full((n,), 1 - rate), torch.full((n,), 3), 3, generator(0))
    codes = (masked * torch.tensor([1, 2, 4])).sum(dim=1)
    frequency = torch.bincount(codes, minlength=8) / n
    product = torch.tensor(
        [rate ** code.bit_count() * (1 - rate) ** (3 - code.bit_count()) for code in range(8)]
    )
    expected = torch.where(torch.arange(8) == 0, 0.0, product / (1 - (1 - rate) ** 3))
    torch.testing.assert_close(frequency, expected, atol=5e-3, rtol=0)


def test_the_same_seed_masks_the_same_positions():
    args = torch.rand(8, generator=generator(1)), torch.full((8,), 7), 7
    assert torch.equal(corrupt(*args, generator(3)).masked, corrupt(*args, generator(3)).masked)
