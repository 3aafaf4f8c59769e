"""The learnt defence: what its losses measure, and that training trades one for the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from defence_cases import some_vectors
from torch.nn import functional

from unembed.defences import Defence, make_defence
from unembed.defences.adversarial_training import Targets, linear_inverter, neighbour_loss
from unembed.defences.base import Floats


def unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_neighbours_that_stay_cost_nothing() -> None:
    clean = torch.from_numpy(unit(some_vectors(40)))
    assert float(neighbour_loss(clean, clean, clean)) == pytest.approx(0, abs=1e-5)
    turned = clean @ torch.linalg.qr(torch.randn(24, 24, generator=torch.Generator().manual_seed(0)))[0]
    assert float(neighbour_loss(clean, turned, turned)) == pytest.approx(0, abs=1e-4)
    assert float(neighbour_loss(clean, turned, clean)) > 0.5


def test_the_linear_inverter_undoes_any_linear_map_and_learns_nothing_from_noise() -> None:
    clean = torch.from_numpy(unit(some_vectors(400)))
    random = torch.Generator().manual_seed(0)
    targets = Targets(clean)
    rows = torch.arange(200, 400)
    mapped = clean @ torch.randn(24, 24, generator=random)
    assert float(targets.success(linear_inverter(mapped, targets.wanted, 200), rows)) > 0.9
    noise = functional.normalize(torch.randn(400, 24, generator=random), dim=1)
    assert float(targets.success(linear_inverter(noise, targets.wanted, 200), rows)) < 0.05


def recovered(defence: Defence, vectors: Floats) -> float:
    """What a linear inverter that is fitted afterwards gets back, on vectors that it has not seen."""
    targets = Targets(torch.from_numpy(vectors))
    stored = torch.from_numpy(defence.apply(vectors, seed=9))
    half = len(vectors) // 2
    guessed = linear_inverter(stored, targets.wanted, half)
    return float(targets.success(guessed, torch.arange(half, len(vectors))))


def kept(defence: Defence, vectors: Floats) -> float:
    """The share of each vector's ten nearest that are still among its ten nearest."""
    stored, asked = unit(defence.apply(vectors, seed=9)), unit(defence.query(vectors))
    before, after = (np.argsort(-x, axis=1)[:, 1:11] for x in (vectors @ vectors.T, asked @ stored.T))
    return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(before, after, strict=True)]))


def test_more_weight_leaves_less_to_read_and_fewer_neighbours() -> None:
    vectors = unit(some_vectors(600))
    weak, strong = (
        make_defence("learnt", adversary=weight, steps=80, batch=256, hidden=32) for weight in (0.1, 3)
    )
    for defence in (weak, strong):
        defence.fit(vectors[:400], seed=1)
    fresh = vectors[400:]
    assert recovered(strong, fresh) < recovered(weak, fresh) - 0.1
    assert kept(strong, fresh) < kept(weak, fresh)
    assert kept(strong, fresh) > 0.2  # chance: 0.05
