"""The KV cache: exact where nothing is old, and only what stands is cached. Shortlists: exact logits."""

from __future__ import annotations

import pytest
import torch

from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser, Prepared
from unembed.model.fast.kv_cache import KVCache, hidden_with_kv_cache
from unembed.model.fast.word_shortlist import WordShortlist, likely_words

BATCH, LENGTH, VOCABULARY = 3, 6, 20
BLOCKS = {
    "pre": BlockConfig(hidden=16, heads=2, ffn=24),
    "post": BlockConfig(hidden=16, heads=2, ffn=24, norm="post"),
    "rotary": BlockConfig(hidden=16, heads=2, ffn=24, rotary=(100.0, 50.0)),
}


@pytest.fixture(params=list(BLOCKS))
def denoiser(request: pytest.FixtureRequest) -> Denoiser:
    torch.manual_seed(0)
    config = DenoiserConfig(
        vector_dim=5, vocabulary=VOCABULARY, max_length=8, layers=2, block=BLOCKS[request.param],
        length="given", lexical_hidden=4, memory=3,
    )  # fmt: skip
    made = Denoiser(config).double().eval().requires_grad_(False)
    for parameter in made.parameters():
        parameter.add_(0.3 * torch.randn_like(parameter))
    return made


@pytest.fixture
def prepared(denoiser: Denoiser) -> Prepared:
    return denoiser.prepare(torch.randn(BATCH, 5).double(), torch.full((BATCH,), LENGTH))


def positions(wanted: torch.Tensor) -> torch.Tensor:
    return wanted.flatten().nonzero().squeeze(1)


def test_the_first_pass_is_exact(denoiser: Denoiser, prepared: Prepared) -> None:
    xt = torch.randint(VOCABULARY + 1, (BATCH, LENGTH))
    t, at = torch.rand(BATCH).double(), torch.tensor([0, 3, 7, 8, 12, 17])
    again = hidden_with_kv_cache(denoiser, xt, t, prepared, KVCache.empty(prepared, LENGTH), at=at)
    assert torch.allclose(again, denoiser.hidden(xt, t, prepared, at=at))


def test_words_of_the_last_step_are_seen(denoiser: Denoiser, prepared: Prepared) -> None:
    """Everything is masked, then some of it is revealed: nothing is older than its word."""
    mask, t = denoiser.config.mask_id, torch.rand(BATCH).double()
    cache = KVCache.empty(prepared, LENGTH)
    xt = torch.full((BATCH, LENGTH), mask)
    hidden_with_kv_cache(denoiser, xt, t, prepared, cache, at=positions(xt == mask))
    xt[:, :2] = torch.randint(VOCABULARY, (BATCH, 2))
    at = positions(xt == mask)
    second = hidden_with_kv_cache(denoiser, xt, t / 2, prepared, cache, at=at)
    assert torch.allclose(second, denoiser.hidden(xt, t / 2, prepared, at=at))
    xt[:, 2] = 1
    at = positions(xt == mask)
    before = [layer.clone() for layer in cache.layers]
    third = hidden_with_kv_cache(denoiser, xt, t / 4, prepared, cache, at=at)
    assert not torch.allclose(third, denoiser.hidden(xt, t / 4, prepared, at=at))
    for old, new in zip(before, cache.layers, strict=True):
        assert torch.equal(old[:, :2], new[:, :2])
        assert (old[:, 2] != new[:, 2]).any(dim=1).all()
    assert (old[:, 3:] != new[:, 3:]).any(dim=2).all()  # what masks see has changed


def test_unread_sequences_wait(denoiser: Denoiser, prepared: Prepared) -> None:
    mask, t = denoiser.config.mask_id, torch.rand(BATCH).double()
    cache = KVCache.empty(prepared, LENGTH)
    xt = torch.full((BATCH, LENGTH), mask)
    hidden_with_kv_cache(denoiser, xt, t, prepared, cache, at=torch.tensor([LENGTH + 1]))
    assert (cache.seen[1] == mask).all()
    assert (cache.seen[[0, 2]] == -1).all()
    at = positions(xt == mask)
    later = hidden_with_kv_cache(denoiser, xt, t, prepared, cache, at=at)
    assert torch.allclose(later, denoiser.hidden(xt, t, prepared, at=at))


def test_words_of_a_shortlist_have_the_same_logits(denoiser: Denoiser, prepared: Prepared) -> None:
    xt = torch.randint(VOCABULARY, (BATCH, LENGTH))
    rows = torch.tensor([0, 1, 1, 1, 2])
    h = torch.randn(5, 16).double()
    full = denoiser.logits(h, rows, prepared, xt=xt)  # [5, V]
    entries = likely_words(full, rows, BATCH, 7)  # [B, 7]
    own = WordShortlist.gather(denoiser, entries).logits(denoiser, h, rows, prepared, xt)
    assert torch.allclose(own, full.gather(1, entries[rows]))
    assert (entries[:, 1:] > entries[:, :-1]).all()
    for row, best in zip(rows.tolist(), full.argmax(dim=1).tolist(), strict=True):
        assert best in entries[row].tolist()
