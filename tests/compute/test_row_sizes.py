"""Few different numbers of rows: never less than there are, little more, and nothing of the rest shows."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch import Tensor, nn

from unembed.compute import packed_linear
from unembed.compute.packed_linear import PackedLinear
from unembed.compute.row_sizes import FEW, in_known_sizes, known_size


@given(some.integers(1, 10_000_000))
def test_a_size_is_at_most_an_eighth_too_large(rows: int) -> None:
    assert rows <= known_size(rows) <= rows * 1.125
    assert known_size(known_size(rows)) == known_size(rows)


@given(some.integers(1, 1_000_000), some.integers(1, 1_000_000))
def test_more_rows_never_have_a_smaller_size(one: int, other: int) -> None:
    assert (one <= other) <= (known_size(one) <= known_size(other))


def test_there_are_eight_sizes_an_octave() -> None:
    assert {known_size(rows) for rows in range(1, FEW + 1)} == set(range(1, FEW + 1))
    for octave in range(4, 16):
        assert len({known_size(rows) for rows in range(2**octave + 1, 2 ** (octave + 1) + 1)}) == 8


@pytest.mark.parametrize("rows", [0, 1, FEW, FEW + 1, 100])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_what_is_there_stays_and_the_rest_is_zero(rows: int, dtype: torch.dtype | None) -> None:
    x = torch.randn(rows, 3)
    with torch.no_grad():
        filled = in_known_sizes(x, dtype)
    assert filled.dtype == (dtype or x.dtype)
    assert len(filled) == known_size(rows)
    assert torch.equal(filled[:rows], x.to(filled.dtype))
    assert not filled[rows:].any()


@pytest.mark.parametrize("shape", [(37, 8), (3, 37, 8)])
def test_a_product_that_learns_in_bf16_has_the_gradients_of_its_rows_alone(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    layer = PackedLinear(8, 5).to(torch.bfloat16)
    x = torch.randn(shape, dtype=torch.bfloat16)
    seen: list[int] = []
    plain = nn.functional.linear

    def watched(rows: Tensor, *others: Tensor) -> Tensor:
        seen.append(len(rows))
        return plain(rows, *others)

    def gradients() -> tuple[Tensor, ...]:
        given = x.clone().requires_grad_()
        out = layer(given)
        assert out.shape == (*shape[:-1], 5)
        return (out, *torch.autograd.grad(out.float().pow(2).sum(), (given, layer.weight, layer.bias)))

    monkeypatch.setattr(packed_linear.F, "linear", watched)
    filled = gradients()
    assert seen == [known_size(x.numel() // 8)]
    monkeypatch.setattr(packed_linear, "in_known_sizes", lambda rows: rows)
    for one, other in zip(filled, gradients(), strict=True):
        torch.testing.assert_close(one, other, rtol=0.02, atol=0.02)
