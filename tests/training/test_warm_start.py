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


def test_what_the_source_can_write_stays_though_the_corpus_lacks_it(toy_config, trained, tmp_path):
    from unembed.model.checkpoint import load_checkpoint

    source = load_checkpoint(trained)
    # Of forty texts only the commonest tokens are counted often enough.
    change = {"start_from": str(trained), "output": tmp_path / "next", "limit": 40, "min_count": 40}
    config = toy_config.model_copy(update=change)
    corpus = open_corpus(config)
    cold = build(config.model_copy(update={"start_from": None}), corpus).checkpoint.vocabulary
    warm = build(config, corpus).checkpoint.vocabulary
    assert len(cold) < len(source.vocabulary)
    assert set(warm.token_ids) == set(source.vocabulary.token_ids) | set(cold.token_ids)


def test_a_wider_lexical_head_begins_as_the_same_function(toy_config, trained, tmp_path):
    from unembed.model.checkpoint import load_checkpoint

    source = load_checkpoint(trained)
    with torch.no_grad():  # away from its small start
        source.denoiser.lexical.down.weight.normal_(generator=torch.Generator().manual_seed(1))
    source.save(tmp_path / "source")
    change = {"start_from": str(tmp_path / "source"), "lexical_hidden": 96, "output": tmp_path / "next"}
    config = toy_config.model_copy(update=change)
    corpus = open_corpus(config)
    warm = build(config, corpus).checkpoint
    _, here, there = np.intersect1d(
        warm.vocabulary.token_ids, source.vocabulary.token_ids, return_indices=True
    )
    e = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    new, old = warm.denoiser.lexical(e)[:, here], source.denoiser.lexical(e)[:, there]
    assert torch.allclose(new, old, atol=1e-5)
    assert warm.denoiser.lexical.up.weight[64:].std() > 0, "units that are all zero would never learn"


def test_a_wider_length_head_begins_as_the_same_function(toy_config, trained, tmp_path):
    from unembed.model.checkpoint import load_checkpoint

    change = {"start_from": str(trained), "length_hidden": 300, "output": tmp_path / "next"}
    config = toy_config.model_copy(update=change)
    warm, source = build(config, open_corpus(config)).checkpoint, load_checkpoint(trained)
    vectors = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    assert warm.denoiser.length_head[0].out_features == 300
    torch.testing.assert_close(
        warm.denoiser.length_logits(vectors), source.denoiser.length_logits(vectors), atol=1e-5, rtol=1e-5
    )


def test_the_weights_that_it_began_with_are_known_by_digest(toy_config, trained, tmp_path):
    """A path would mean nothing on another machine."""
    from unembed.model.checkpoint import load_checkpoint
    from unembed.model.parts import WEIGHTS
    from unembed.training import training_loop

    change = {"start_from": str(trained), "output": tmp_path / "next", "steps": 2}
    model = training_loop.train(toy_config.model_copy(update=change))
    assert model.config.training["config"]["start_from"] == load_checkpoint(trained).config.digests[WEIGHTS]


def test_a_narrower_lexical_head_is_refused(toy_config, trained):
    config = toy_config.model_copy(update={"start_from": str(trained), "lexical_hidden": 32})
    with pytest.raises(MismatchError, match=r"does not fit: lexical\.up"):
        build(config, open_corpus(config))
