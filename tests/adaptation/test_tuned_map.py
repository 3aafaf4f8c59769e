"""The strength and the gain are those with which the base's own head finds the words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import toy
from unembed.adaptation import tuned_map
from unembed.adaptation.tuned_map import ENERGY, LEAST_PAIRS, fit_map, loudness
from unembed.encoders import load_encoder
from unembed.model.bundled import BUNDLED
from unembed.model.checkpoint import Checkpoint
from unembed.model.ridge import fit_ridge

TEXTS = toy.sentences(LEAST_PAIRS + 100, seed=1)


@pytest.fixture(scope="module")
def base() -> Checkpoint:
    return Checkpoint.from_pretrained(BUNDLED)


@pytest.fixture(scope="module")
def blurred(base: Checkpoint) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors that tell a quarter of what the base reads, and what it reads."""
    own = torch.from_numpy(load_encoder("minilm", device="cpu").encode(TEXTS))
    rng = np.random.default_rng(0)
    turn = torch.from_numpy(rng.normal(size=(384, 96)).astype(np.float32)) / 20
    return own @ turn, base.denoiser.read(own).detach()


def test_it_finds_more_words_than_the_regression_that_errs_least(base, blurred):
    x, y = blurred
    tuned = fit_map(base, x, y, TEXTS)
    words = tuned_map.words_of(base, TEXTS[-60:])
    plain = fit_ridge(x[:-60], y[:-60])
    assert tuned.words >= tuned_map.found_words(base, plain(x[-60:]), words)
    assert tuned.louder >= 1.0
    assert tuned.energy in tuned_map.ENERGIES


def test_few_pairs_are_not_set_aside(base, blurred):
    x, y = (part[:100] for part in blurred)
    tuned = fit_map(base, x, y, TEXTS[:100])
    assert (tuned.energy, tuned.words) == (ENERGY, None)
    assert torch.equal(tuned.ridge.matrix, fit_ridge(x, y).matrix)


def test_loudness_is_energy_and_never_less_than_one(blurred):
    x, y = blurred
    ridge = fit_ridge(x, y)
    gain = loudness(ridge, x, y, 1.0)
    mapped = gain * (x - ridge.mean) @ ridge.matrix
    assert float(mapped.square().mean() / (y - ridge.shift).square().mean()) == pytest.approx(1.0, rel=1e-3)
    assert loudness(ridge, x, y, 0.0) == 1.0
