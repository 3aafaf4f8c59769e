import numpy as np
import pytest
import torch

from unembed.errors import MismatchError
from unembed.training.dataset import open_corpus
from unembed.training.fresh_model import build
from unembed.training.training_loop import train


@pytest.fixture
def trained(toy_config):
    config = toy_config.model_copy(update={"steps": 2, "limit": 200, "min_count": 40})
    train(config)
    return config.output / "latest"


def test_known_tokens_and_blocks_are_taken_over_and_new_tokens_start_fresh(toy_config, trained, tmp_path):
    from unembed.model.checkpoint import load_checkpoint

    source = load_checkpoint(trained)
    config = toy_config.model_copy(update={"start_from": str(trained), "output": tmp_path / "next"})
    corpus = open_corpus(config)
    fresh = build(config.model_copy(update={"start_from": None}), corpus).checkpoint
    warm = build(config, corpus).checkpoint

    ids, here, there = np.intersect1d(
        warm.vocabulary.token_ids, source.vocabulary.token_ids, return_indices=True
    )
    new = np.setdiff1d(np.arange(len(warm.vocabulary)), here)
    assert len(ids)
    assert len(new)
    assert torch.equal(warm.denoiser.token.weight[here], source.denoiser.token.weight[there])
    assert torch.equal(warm.denoiser.token.weight[-1], source.denoiser.token.weight[-1])
    assert torch.equal(warm.denoiser.token.weight[new], fresh.denoiser.token.weight[new])
    assert torch.equal(warm.denoiser.standardise.whiten, source.denoiser.standardise.whiten)
    for mine, theirs in zip(
        warm.denoiser.blocks.parameters(), source.denoiser.blocks.parameters(), strict=True
    ):
        assert torch.equal(mine, theirs)


def test_another_shape_is_refused(toy_config, trained):
    config = toy_config.model_copy(update={"start_from": str(trained), "layers": 3})
    with pytest.raises(MismatchError, match=r"does not fit: condition\.vector_modulation"):
        build(config, open_corpus(config))
