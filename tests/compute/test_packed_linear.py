"""Packed weights: the same products, never out of date, never in training."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unembed.compute import packed_linear as packed
from unembed.compute.kernels import FEW_ROWS, KERNELS, available, best_kernel
from unembed.compute.packed_linear import PackedLinear, feed_forward, linear
from unembed.compute.precision import Precision, Processor, computing

pytestmark = pytest.mark.skipif(not available(), reason="this build of torch has no oneDNN")


@pytest.fixture
def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(24, 30)


def few(layer: nn.Linear, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
    with torch.no_grad(), computing("fp32"):
        return linear(x, layer.weight, layer.bias, first, last)


@pytest.mark.parametrize("shape", [(1, 24), (7, 24), (2, 3, 24), (0, 24), (FEW_ROWS + 1, 24)])
@pytest.mark.parametrize("part", [(0, None), (10, None), (0, 10), (10, 20)])
def test_the_same_product(layer: nn.Linear, shape: tuple[int, ...], part: tuple[int, int | None]) -> None:
    x = torch.randn(shape)
    rows = slice(*part)
    expected = F.linear(x, layer.weight[rows], layer.bias[rows])
    assert torch.allclose(few(layer, x, *part), expected, atol=1e-5)
    with torch.no_grad(), computing("fp32"):
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
    first = packed._copies[layer.weight].parts[0, 30, "fp32"]
    few(layer, torch.randn(5, 24))
    assert packed._copies[layer.weight].parts[0, 30, "fp32"] is first


def test_only_where_decoding_asks_for_it(layer: nn.Linear) -> None:
    x = torch.randn(4, 24)
    with torch.no_grad():
        linear(x, layer.weight, layer.bias)
    few(layer, torch.randn(FEW_ROWS + 1, 24))
    with computing("fp32"):
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
    monkeypatch.setattr(packed, "available", lambda: False)
    x = torch.randn(4, 24)
    assert torch.equal(few(layer, x), layer(x))


WITH_BF16 = pytest.param(
    "bf16", marks=pytest.mark.skipif(not Processor.here().bf16, reason="this processor has no bf16")
)


@pytest.mark.parametrize("precision", ["fp32", WITH_BF16, "int8"])
@pytest.mark.parametrize("shape", [(1, 64), (3, 5, 64), (200, 64)])
@pytest.mark.parametrize("bias", [True, False])
def test_every_kernel_is_near_the_exact_product(
    precision: Precision, shape: tuple[int, ...], bias: bool
) -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(shape), torch.randn(96, 64)
    added = torch.randn(96) if bias else None
    found = KERNELS[precision].pack(weight).product(x, added)
    exact = F.linear(x, weight, added)
    assert found.shape == exact.shape
    assert found.dtype == torch.float32
    error = float((found - exact).norm() / exact.norm())
    assert error < {"fp32": 1e-6, "bf16": 0.01, "int8": 0.03}[precision]


@pytest.mark.parametrize("precision", [WITH_BF16, "int8"])
def test_a_row_does_not_depend_on_its_neighbours(precision: Precision) -> None:
    torch.manual_seed(2)
    x, packed_weight = torch.randn(8, 64), KERNELS[precision].pack(torch.randn(96, 64))
    loud = torch.cat([x[:1], 1000 * x[1:]])
    alone = packed_weight.product(x[:1], None)
    assert torch.allclose(packed_weight.product(loud, None)[:1], alone, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not Processor.here().vnni, reason="without VNNI weights have half as many steps")
def test_int8_is_exact_where_every_number_is_a_whole_step() -> None:
    x = torch.tensor([[127.0, -64.0, 3.0, 0.0], [-127.0, 1.0, 2.0, 50.0]])
    weight = torch.tensor([[127.0, 5.0, -9.0, 0.0], [0.0, 127.0, -127.0, 1.0]])
    assert torch.allclose(KERNELS["int8"].pack(weight).product(x, None), x @ weight.T, rtol=1e-6)


def test_int8_does_not_overflow_where_every_number_is_as_large_as_it_can_be() -> None:
    x, weight = torch.ones(3, 64), torch.ones(5, 64)
    weight[1::2] = -1.0
    for sign in (1.0, -1.0):
        found = KERNELS["int8"].pack(weight).product(sign * x, None)
        assert torch.allclose(found, sign * x @ weight.T, rtol=1e-4)


def test_a_row_of_zeros_gives_the_bias() -> None:
    bias = torch.randn(6)
    found = KERNELS["int8"].pack(torch.randn(6, 8)).product(torch.zeros(2, 8), bias)
    assert torch.equal(found, bias.expand(2, 6))


def test_each_precision_has_a_copy_of_its_own(layer: nn.Linear) -> None:
    x = torch.randn(4, 24)
    few(layer, x)
    with torch.no_grad(), computing("int8"):
        linear(x.repeat(1000, 1), layer.weight, layer.bias)
    assert {key[2] for key in packed._copies[layer.weight].parts} >= {"fp32", "int8"}


def test_which_kernel_a_product_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Processor, "here", lambda: Processor(vnni=True, bf16=False))
    assert best_kernel("fp32", FEW_ROWS, 384) == "fp32"
    assert best_kernel("fp32", FEW_ROWS + 1, 384) is None
    assert best_kernel("int8", 1, 384) == "fp32"
    assert best_kernel("int8", 1000, 384) == "int8"
    monkeypatch.setattr(Processor, "here", lambda: Processor(vnni=True, bf16=True))
    assert best_kernel("int8", 1, 384) == "bf16"
    assert best_kernel("bf16", 10_000, 384) == "bf16"


@pytest.mark.parametrize("precision", [None, "fp32", "bf16", "int8"])
@pytest.mark.parametrize("rows", [3, FEW_ROWS + 1, 4000])
def test_a_feed_forward_is_its_two_products_number_for_number(precision: Precision | None, rows: int) -> None:
    torch.manual_seed(0)
    up, down, x = PackedLinear(24, 96), PackedLinear(96, 24), torch.randn(rows, 24)
    with torch.no_grad(), computing(precision):
        assert torch.equal(feed_forward(x, up, down), down(F.gelu(up(x))))
    feed_forward(x, up, down).sum().backward()  # it learns as they do
    assert up.weight.grad is not None
