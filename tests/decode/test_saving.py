"""The two approximations, where they must be exact."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from unembed.decode import DECODERS, decode, make_decoder
from unembed.invert_config import InversionOptions
from unembed.model.denoiser import Denoiser


@pytest.mark.parametrize("name", ["confidence", "mask-predict", "entropy-bound"])
def test_a_shortlist_of_all_words_changes_nothing(given: Denoiser, vectors: Tensor, name: str) -> None:
    lengths, seeds = torch.full((len(vectors),), 9), torch.arange(len(vectors))
    exact, short = (
        decode(given, vectors, lengths, make_decoder(name), options, seeds=seeds, banned=[7])
        for options in (InversionOptions(steps=4), InversionOptions(steps=4, shortlist=1000))
    )
    assert torch.equal(exact.tokens, short.tokens)
    assert torch.allclose(exact.log_prob, short.log_prob, atol=1e-5)


@pytest.mark.parametrize("name", list(DECODERS))
def test_the_kv_cache_is_exact_for_two_passes(given: Denoiser, vectors: Tensor, name: str) -> None:
    """Whatever stands was revealed in the pass before."""
    lengths, seeds = torch.full((len(vectors),), 2), torch.arange(len(vectors))
    exact, cached = (
        decode(given, vectors, lengths, make_decoder(name), options, seeds=seeds)
        for options in (InversionOptions(steps=2), InversionOptions(steps=2, kv_cache=True))
    )
    if name in ("two-stage", "beam"):  # more passes, or hypotheses that swap their rows
        assert torch.equal(cached.forward_passes, exact.forward_passes)
    else:
        assert torch.equal(exact.tokens, cached.tokens)
        assert torch.allclose(exact.log_prob, cached.log_prob, atol=1e-5)
