"""The sampled loss against the one over all words."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import tiny
import toy
from unembed.adaptation.head_losses import LENGTH_WEIGHT, HeadLosses
from unembed.adaptation.tuned_map import words_of

TEXTS = toy.sentences(6)
ROWS = torch.tensor([4, 0, 4])
STANDARD = torch.randn(3, 16, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def base():
    return tiny.checkpoint(toy.wordpiece(), toy.ToyEncoder().info, max_length=16)


def drawn(base, seed: int) -> float:
    return float(HeadLosses(base, TEXTS)(STANDARD, ROWS, torch.Generator().manual_seed(seed)))


@torch.no_grad()
def test_on_average_it_is_that_of_all_words(base):
    base.denoiser.length_head = None
    logits, total = base.denoiser.lexical(STANDARD), 0.0  # [3, V]
    for number, row in enumerate(ROWS.tolist()):
        [words] = words_of(base, [TEXTS[row]])
        present = torch.zeros(logits.shape[1])
        present[words] = 1.0
        each = F.binary_cross_entropy_with_logits(logits[number], present, reduction="sum")
        total += float(each) / len(words)
    found = sum(drawn(base, seed) for seed in range(40)) / 40
    assert found == pytest.approx(total / 3, rel=0.01)


@torch.no_grad()
def test_the_length_is_added(base):
    tokens = base.tokenizer.encode_batch([TEXTS[row] for row in ROWS], add_special_tokens=False)
    lengths = torch.tensor([len(one.ids) for one in tokens])
    length = LENGTH_WEIGHT * float(F.cross_entropy(base.denoiser.length_head(STANDARD), lengths))
    whole = drawn(base, 0)
    base.denoiser.length_head = None
    assert whole - drawn(base, 0) == pytest.approx(length, rel=1e-3)
