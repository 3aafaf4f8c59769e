"""Wiener's filter: the best linear guess of a vector behind noise."""

import pytest
import torch

from unembed.model.condition import Standardise
from unembed.model.wiener import WienerFilter

DIM = 6


@pytest.fixture(scope="module")
def vectors():
    """Many vectors of a space whose directions differ much in variance."""
    generator = torch.Generator().manual_seed(0)
    axes = torch.linalg.qr(torch.randn(DIM, DIM, generator=generator))[0]
    scale = torch.tensor([2.0, 1.0, 0.5, 0.3, 0.1, 0.05])
    return torch.randn(20_000, DIM, generator=generator) * scale @ axes.T + 0.7


@pytest.fixture(scope="module")
def wiener(vectors):
    standardise = Standardise(DIM)
    standardise.fit(vectors)
    return WienerFilter.of(standardise)


def test_it_knows_the_spaces_mean_and_covariance(vectors, wiener):
    covariance = wiener.axes * wiener.variance @ wiener.axes.T
    torch.testing.assert_close(covariance, vectors.T.cov(), atol=1e-3, rtol=1e-3)
    assert wiener.spread == pytest.approx(float(vectors.var(dim=0).mean().sqrt()), rel=1e-3)


def test_without_noise_nothing_changes_and_behind_endless_noise_the_mean_is_left(vectors, wiener):
    torch.testing.assert_close(wiener(vectors[:9], 0.0), vectors[:9], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(wiener(vectors[:9], 1e6), wiener.mean.expand(9, -1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0])
def test_no_other_linear_guess_is_nearer(vectors, wiener, sigma):
    noisy = vectors + sigma * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(1))
    centred = noisy - noisy.mean(dim=0)
    best = torch.linalg.lstsq(centred, vectors - vectors.mean(dim=0)).solution
    least = (vectors - vectors.mean(dim=0) - centred @ best).square().mean()
    ours = (vectors - wiener(noisy, sigma)).square().mean()
    assert float(ours) == pytest.approx(float(least), rel=5e-3)
    assert ours < 0.9 * (vectors - noisy).square().mean()


def test_each_vector_may_have_noise_of_its_own(vectors, wiener):
    sigma = torch.tensor([0.0, 0.3, 3.0])
    together = wiener(vectors[:3], sigma)
    for row, one in enumerate(sigma):
        torch.testing.assert_close(together[row], wiener(vectors[row : row + 1], float(one))[0])
