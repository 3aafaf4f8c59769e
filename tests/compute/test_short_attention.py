"""Attention over few tokens gives what torch's kernel gives, forward and backward."""

import pytest
import torch
import torch.nn.functional as F

from unembed.compute.short_attention import KEYS, attention


def joined(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).requires_grad_()


def result_and_gradient(how, qkv, keys):
    """Queries, keys and values side by side, as the blocks have them."""
    qkv = qkv.detach().clone().requires_grad_()
    q, k, v = qkv.view(*qkv.shape[:2], 3, 4, qkv.shape[2] // 12).permute(2, 0, 3, 1, 4).unbind(0)
    out = how(q, k[:, :, :keys], v[:, :, :keys])
    (out.float() * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
    return out.detach(), qkv.grad


@pytest.mark.parametrize(("batch", "length", "keys"), [(3, 9, 9), (2, 1, 1), (0, 5, 5), (2, 7, 4)])
def test_it_is_torchs(batch, length, keys):
    qkv = joined(batch, length, 3 * 32)
    found = result_and_gradient(attention, qkv, keys)
    expected = result_and_gradient(F.scaled_dot_product_attention, qkv, keys)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [9, KEYS + 1])
def test_in_bf16_only_what_comes_in_and_goes_out_is_rounded(length):
    qkv = joined(3, length, 3 * 32).detach().bfloat16()
    out, gradient = result_and_gradient(attention, qkv, length)
    exact, exact_gradient = result_and_gradient(F.scaled_dot_product_attention, qkv.float(), length)
    assert out.dtype == gradient.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), exact, rtol=2**-8, atol=1e-6)
    torch.testing.assert_close(gradient.float(), exact_gradient, rtol=2**-7, atol=1e-2)


def test_large_scores_do_not_overflow():
    qkv = joined(1, 4, 3 * 8).detach() * 1000.0
    out, gradient = result_and_gradient(attention, qkv, 4)
    assert out.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("keys", [1, 7, 20, KEYS, KEYS + 1])
@pytest.mark.parametrize("masked", [False, True])
def test_where_nothing_learns_it_is_torchs_too(keys, masked):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 4, 5, 8), torch.randn(3, 4, keys, 8), torch.randn(3, 4, keys, 8)
    mask = None
    if masked:
        mask = torch.arange(keys) < torch.tensor([1, max(1, keys // 2), keys])[:, None]
        mask = mask[:, None, None, :]
    with torch.no_grad():
        found = attention(q, k, v, mask)
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
