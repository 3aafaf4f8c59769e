"""The bound as implemented, on a language small enough to enumerate, equals that language's entropy."""

import itertools
import math

import pytest
import torch

from unembed.diffusion.corrupt import corrupt, sample_times
from unembed.diffusion.loss import bound_weights, weighted_bound
from unembed.diffusion.schedule import Exponential, Linear

SYMBOLS, LENGTH = 4, 5


@pytest.fixture(scope="module")
def language():
    """Every sentence of a Markov chain over 4 symbols, length 5, with its probability."""
    generator = torch.Generator().manual_seed(7)
    start = torch.softmax(torch.randn(SYMBOLS, generator=generator, dtype=torch.double), 0)
    move = torch.softmax(2 * torch.randn(SYMBOLS, SYMBOLS, generator=generator, dtype=torch.double), dim=1)
    sentences = torch.tensor(list(itertools.product(range(SYMBOLS), repeat=LENGTH)))  # [4^5, 5]
    probability = start[sentences[:, 0]]
    for i in range(1, LENGTH):
        probability = probability * move[sentences[:, i - 1], sentences[:, i]]
    return sentences, probability


def exact_cross_entropy(sentences, probability, x0, masked):
    """`-log p(x0_i | visible tokens)` by summing over the whole language, at each masked position."""
    rows, positions = masked.nonzero(as_tuple=True)
    agrees = (sentences[None] == x0[:, None]) | masked[:, None]  # [B, 4^5, L]
    weight = agrees.all(dim=2) * probability  # [B, 4^5]
    same = sentences[None, :, :] == x0[:, None, :]  # [B, 4^5, L]
    posterior = (weight[..., None] * same).sum(dim=1) / weight.sum(dim=1, keepdim=True)  # [B, L]
    return -posterior[rows, positions].log(), rows


def surviving_entropy(sentences, probability, alpha):
    """Entropy of the tokens still visible at t = 1, which a schedule with alpha(1) > 0 leaves out."""
    total = 0.0
    for kept in itertools.product([False, True], repeat=LENGTH):
        chance = math.prod(alpha if k else 1 - alpha for k in kept)
        code = (sentences * torch.tensor(kept) * SYMBOLS ** torch.arange(LENGTH)).sum(dim=1)
        marginal = torch.zeros(SYMBOLS**LENGTH, dtype=torch.double).index_add(0, code, probability)
        marginal = marginal[marginal > 0]
        total += chance * float(-(marginal * marginal.log()).sum())
    return total


@pytest.mark.parametrize("schedule", [Linear(), Exponential(5.0), Exponential(1.0)])
def test_the_bound_with_the_exact_posterior_is_the_entropy(language, schedule):
    sentences, probability = language
    entropy = float(-(probability * probability.log()).sum())
    missing = surviving_entropy(sentences, probability, float(schedule.alpha(torch.tensor(1.0))))

    generator = torch.Generator().manual_seed(0)
    batches = []
    for _ in range(150):
        x0 = sentences[torch.multinomial(probability, 256, replacement=True, generator=generator)]
        t = sample_times(256, generator).double()
        lengths = torch.full((256,), LENGTH)
        masked, any_masked = corrupt(schedule.alpha(t), lengths, LENGTH, generator)
        cross_entropy, rows = exact_cross_entropy(sentences, probability, x0, masked)
        bound = weighted_bound(cross_entropy, rows, bound_weights(schedule.weight(t), any_masked, lengths))
        batches.append(float(bound.mean()) * LENGTH)
    estimate = torch.tensor(batches, dtype=torch.double)
    error = float(estimate.std() / len(batches) ** 0.5)
    assert error < 0.02 * entropy  # sharp enough that a wrong weight cannot hide in the noise
    assert abs(float(estimate.mean()) + missing - entropy) < 4 * error


def test_each_weight_reaches_its_own_sample_only():
    cross_entropy = torch.tensor([1.0, 2.0, 4.0])
    rows = torch.tensor([0, 0, 1])
    weight, any_masked = torch.tensor([10.0, 0.5]), torch.tensor([0.5, 1.0])
    bound = weighted_bound(cross_entropy, rows, bound_weights(weight, any_masked, torch.tensor([2, 4])))
    assert bound.tolist() == [10.0 * 0.5 * 3.0 / 2, 0.5 * 4.0 / 4]
