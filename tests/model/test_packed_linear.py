"""Packed weights: the same products, never out of date, never in training."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.model.fast import packed_linear as packed
from unembed.model.fast.packed_linear import ROWS, linear, packing

pytestmark = pytest.mark.skipif(packed._product() is None, reason="this build of torch has no oneDNN")


@pytest.fixture
def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(24, 30)


def few(layer: nn.Linear, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
    with torch.no_grad(), packing():
        return linear(x, layer.weight, layer.bias, first, last)


@pytest.mark.parametrize("shape", [(1, 24), (7, 24), (2, 3, 24), (0, 24), (ROWS + 1, 24)])
@pytest.mark.parametrize("part", [(0, None), (10, None), (0, 10), (10, 20)])
def test_the_same_product(layer: nn.Linear, shape: tuple[int, ...], part: tuple[int, int | None]) -> None:
    x = torch.randn(shape)
    rows = slice(*part)
    expected = F.linear(x, layer.weight[rows], layer.bias[rows])
    assert torch.allclose(few(layer, x, *part), expected, atol=1e-5)
    with torch.no_grad(), packing():
        assert torch.allclose(linear(x, layer.weight), F.linear(x, layer.weight), atol=1e-5)


def test_changed_weights_are_packed_anew(layer: nn.Linear) -> None:
    x = torch.randn(4, 24)
    few(layer, x)
    with torch.no_grad():
        layer.weight.mul_(2.0)
    assert torch.allclose(few(layer, x), layer(x), atol=1e-5)
    layer.load_state_dict(nn.Linear(24, 30).state_dict())
    assert torch.allclose(few(layer, x), layer(x), atol=1e-5)
    layer.to(torch.float64).to(torch.float32)
    layer.weight.data = torch.randn(30, 24)
    assert torch.allclose(few(layer, x), layer(x), atol=1e-5)


def test_other_weights_at_the_same_address_are_packed_anew(layer: nn.Linear) -> None:
    x, memory = torch.randn(4, 24), np.ones((30, 24), np.float32)
    layer.weight.data = torch.from_numpy(memory)
    few(layer, x)
    memory *= 2
    layer.weight.data = torch.from_numpy(memory)
    assert torch.allclose(few(layer, x), layer(x), atol=1e-5)


def test_packed_once(layer: nn.Linear) -> None:
    few(layer, torch.randn(4, 24))
    first = packed._copies[layer.weight].parts[0, 30]
    few(layer, torch.randn(5, 24))
    assert packed._copies[layer.weight].parts[0, 30] is first


def test_only_where_decoding_asks_for_it(layer: nn.Linear) -> None:
    x = torch.randn(4, 24)
    with torch.no_grad():
        linear(x, layer.weight, layer.bias)
    few(layer, torch.randn(ROWS + 1, 24))
    with packing():
        linear(x, layer.weight, layer.bias).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight not in packed._copies


def test_learning_drops_the_copies(layer: nn.Linear) -> None:
    x = torch.randn(4, 24)
    few(layer, x)
    assert layer.weight in packed._copies
    linear(x, layer.weight, layer.bias)
    assert layer.weight not in packed._copies


def test_another_precision_drops_the_copies(layer: nn.Linear) -> None:
    few(layer, torch.randn(4, 24))
    layer.double()
    x = torch.randn(4, 24, dtype=torch.float64)
    assert torch.equal(few(layer, x), layer(x))
    assert layer.weight not in packed._copies


def test_the_copies_go_with_the_weights(layer: nn.Linear) -> None:
    other = nn.Linear(24, 30)
    few(other, torch.randn(4, 24))
    gc.collect()  # what other tests left behind
    before = len(packed._copies)
    del other
    gc.collect()
    assert len(packed._copies) == before - 1


def test_without_onednn(layer: nn.Linear, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_product", lambda: None)
    x = torch.randn(4, 24)
    assert torch.equal(few(layer, x), layer(x))
