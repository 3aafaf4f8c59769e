import pytest
import torch
import torch.nn.functional as F

from unembed.model.blocks import Block, modulate, rotate
from unembed.model.config import BlockConfig
from unembed.model.fast.few_positions import block_at


def plain(block, h):
    """The block as textbooks have it, for the paper's and BERT's families."""

    def attention(x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, block.attention.heads, -1).transpose(1, 2)
            for part in block.attention.qkv(x).chunk(3, dim=-1)
        )
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return block.attention.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

    def feed_forward(x):
        return block.feed_forward.down(F.gelu(block.feed_forward.up(x)))

    if block.pre:
        h = h + attention(block.attention_norm(h))
        return h + feed_forward(block.feed_forward_norm(h))
    h = block.attention_norm(h + attention(h))
    return block.feed_forward_norm(h + feed_forward(h))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_zero_modulation_leaves_a_plain_block(norm):
    torch.manual_seed(0)
    block = Block(BlockConfig(hidden=32, heads=4, ffn=64, norm=norm), 0).eval()
    h = torch.randn(3, 5, 32)
    torch.testing.assert_close(block(h, torch.zeros(3, 4, 32)), plain(block, h), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", range(4))
def test_each_modulation_changes_its_own_sample_only(norm, kind):
    torch.manual_seed(0)
    block = Block(BlockConfig(hidden=32, heads=4, ffn=64, norm=norm), 0).eval()
    h = torch.randn(3, 5, 32)
    modulation = torch.zeros(3, 4, 32)
    before = block(h, modulation)
    modulation[1, kind] = 0.5
    change = (block(h, modulation) - before).abs().amax(dim=(1, 2))
    assert change[1] > 1e-3
    assert change[0] == change[2] == 0.0


def test_scale_counts_from_one_and_shift_from_zero():
    normed = torch.tensor([[2.0, -3.0]])
    assert modulate(normed, torch.zeros(2), torch.zeros(2)).tolist() == [[2.0, -3.0]]
    assert modulate(normed, torch.tensor([1.0, 0.5]), torch.tensor([10.0, 20.0])).tolist() == [[14.0, 15.5]]


def test_the_memory_is_attended_to_and_has_no_place_in_the_output():
    torch.manual_seed(0)
    block = Block(BlockConfig(hidden=32, heads=4, ffn=64), 0).eval()
    h, words, zero = torch.randn(2, 5, 32), torch.randn(2, 3, 32), torch.zeros(2, 4, 32)
    memory = block.attention.keys_values(words)
    out = block(h, zero, None, memory)
    assert out.shape == h.shape
    assert (out - block(h, zero)).abs().max() > 1e-3
    # Attention has no order of its own: neither do the words.
    turned = block.attention.keys_values(words.flip(1))
    torch.testing.assert_close(block(h, zero, None, turned), out, atol=1e-5, rtol=1e-5)


def test_rotation_leaves_lengths_and_makes_products_depend_on_distance_only():
    torch.manual_seed(0)
    x, y = torch.randn(8), torch.randn(8)
    q, k = (rotate(v.expand(1, 1, 10, 8), 1e4)[0, 0] for v in (x, y))  # [L, d]
    torch.testing.assert_close(q.norm(dim=1), x.norm().expand(10))
    products = q @ k.T  # [L, L]
    for distance in (0, 3, 7):
        line = products.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), atol=1e-5, rtol=1e-4)
    assert (products[0] - products[0, 0]).abs().max() > 1e-2


def test_dropout_is_drawn_in_training_only():
    block = Block(BlockConfig(hidden=32, heads=4, ffn=64, dropout=0.5), 0)
    h, zero, at = torch.randn(2, 5, 32), torch.zeros(2, 4, 32), torch.tensor([1, 7])
    for run in (lambda: block(h, zero), lambda: block_at(block, h, zero, at)):
        block.train()
        assert not torch.equal(run(), run())
        block.eval()
        assert torch.equal(run(), run())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_at_chosen_positions_a_block_gives_the_same(norm):
    torch.manual_seed(0)
    block = Block(BlockConfig(hidden=32, heads=4, ffn=64, norm=norm), 0).eval()
    h, modulation, at = torch.randn(2, 5, 32), torch.randn(2, 4, 32), torch.tensor([1, 4, 7])
    padding = torch.arange(5) >= torch.tensor([[5], [4]])
    memory = block.attention.keys_values(torch.randn(2, 3, 32))
    whole = block(h, modulation, padding, memory).flatten(0, 1)[at]
    torch.testing.assert_close(
        block_at(block, h, modulation, at, padding, memory), whole, atol=1e-5, rtol=1e-5
    )
