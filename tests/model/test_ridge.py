"""Ridge regression against its definition."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unembed.model.ridge import RidgePath, fit_ridge


def pairs(n, p, q, noise, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * np.linspace(0.2, 2, p) + 3
    y = x @ rng.normal(size=(p, q)) + noise * rng.normal(size=(n, q)) - 1
    return torch.from_numpy(x), torch.from_numpy(y)


def plain(x, y, strength):
    """The normal equations, as in the docstring."""
    centred, targets = x - x.mean(0), y - y.mean(0)
    gram = centred.T @ centred + len(x) * strength * torch.eye(x.shape[1], dtype=x.dtype)
    return torch.linalg.solve(gram, centred.T @ targets)


@given(
    n=st.integers(8, 30),
    p=st.integers(1, 12),
    q=st.integers(1, 4),
    noise=st.floats(0, 2),
    seed=st.integers(0, 99),
)
def test_it_solves_the_normal_equations_and_its_errors_are_those_of_leaving_one_out(n, p, q, noise, seed):
    x, y = pairs(n, p, q, noise, seed)
    [strength] = [0.1]
    found = fit_ridge(x, y, (strength,))
    absolute = found.strength
    assert torch.allclose(found.matrix.double(), plain(x, y, absolute), atol=1e-4)
    lost = 0.0
    for row in range(n):
        rest = torch.arange(n) != row
        # The strength is per row of the whole: leaving one out keeps n * strength as it is.
        others = plain(x[rest], y[rest], absolute * n / (n - 1))
        guess = (x[row] - x[rest].mean(0)) @ others + y[rest].mean(0)
        lost += float((y[row] - guess).square().sum())
    total = float((y - y.mean(0)).square().sum())
    assert 1 - lost / total == pytest.approx(found.explained, abs=0.02)


def test_the_strength_grows_with_the_noise():
    clean, noisy = (fit_ridge(*pairs(60, 40, 3, noise, 0)) for noise in (0.01, 6.0))
    assert clean.strength < noisy.strength
    assert clean.explained > 0.99 > noisy.explained


def test_fewer_rows_than_columns_and_constant_columns_are_no_problem():
    x, y = pairs(10, 30, 2, 0.1, 1)
    x[:, 3] = 7.0
    found = fit_ridge(x, y)
    assert bool(found.matrix.isfinite().all())
    assert found(x.float()).shape == (10, 2)


@given(
    repeats=st.lists(st.integers(1, 4), min_size=4, max_size=20),
    p=st.integers(1, 30),
    strength=st.floats(0.01, 10),
    seed=st.integers(0, 99),
)
def test_a_row_of_weight_k_is_as_good_as_k_rows(repeats, p, strength, seed):
    """Also where repeating rows makes them more than the columns: then another decomposition is taken."""
    x, y = pairs(len(repeats), p, 3, 0.5, seed)
    times = torch.tensor(repeats)
    weighted = RidgePath(x, y, times.float()).at(strength)
    rows = torch.arange(len(x)).repeat_interleave(times)
    repeated = RidgePath(x[rows], y[rows]).at(strength)
    assert torch.allclose(weighted.matrix, repeated.matrix, atol=1e-4)
    assert torch.allclose(weighted.mean, repeated.mean, atol=1e-5)
    assert torch.allclose(weighted(x.float()), repeated(x.float()), atol=1e-3)


@given(n=st.integers(2, 20), p=st.integers(1, 30), seed=st.integers(0, 99))
def test_a_row_of_next_to_no_weight_is_as_good_as_none(n, p, seed):
    x, y = pairs(n + 1, p, 2, 0.5, seed)
    weights = torch.ones(n + 1).double()
    weights[-1] = 1e-9
    found, without = RidgePath(x, y, weights).at(0.5), RidgePath(x[:-1], y[:-1]).at(0.5)
    assert torch.allclose(found.matrix, without.matrix, atol=1e-4)
    assert found.explained == pytest.approx(without.explained, abs=1e-3)


@pytest.mark.parametrize("n", [1, 2])
def test_rows_that_say_nothing_give_the_mean(n):
    x, y = torch.ones(n, 5), torch.full((n, 3), 2.0)
    found = fit_ridge(x, y)
    assert torch.allclose(found(torch.randn(4, 5)), torch.full((4, 3), 2.0))
