"""Word recall on a lexical head whose every answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from unembed.errors import UsageError
from unembed.metrics.word_recall import WordRecall, recall_words
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary


def model(lexical_hidden: int = 4) -> tuple[Denoiser, Vocabulary]:
    """Whatever the vector, the tokens 5, 4, 3, ... are the likeliest in this order."""
    vocabulary = Vocabulary.from_counts(np.ones(6, dtype=np.int64))
    config = DenoiserConfig(
        vector_dim=4,
        vocabulary=len(vocabulary),
        layers=1,
        block=BlockConfig(hidden=8, heads=2, ffn=8),
        lexical_hidden=lexical_hidden,
    )
    denoiser = Denoiser(config).eval()
    if denoiser.lexical is not None:
        with torch.no_grad():
            denoiser.lexical.down.weight.zero_()
            # The unknown token's entry is the last, and the likeliest by its bias.
            denoiser.lexical.down.bias.copy_(torch.arange(len(vocabulary)))
    return denoiser, vocabulary


@pytest.mark.parametrize(
    ("likeliest", "found"), [(1, [1, 0, 0]), (2, [2, 0, 1]), (6, [3, 2, 1]), (99, [3, 2, 1])]
)
def test_different_tokens_among_the_likeliest(likeliest, found):
    denoiser, vocabulary = model()
    texts = [[5, 4, 4, 0, 5], [0, 1], [4, 77]]  # 77 is not in the vocabulary
    vectors = np.zeros((3, 4), dtype=np.float32)
    out = recall_words(denoiser, vocabulary, vectors, texts, likeliest=likeliest)
    assert out.tolist() == [[hits, total] for hits, total in zip(found, [3, 2, 2], strict=True)]


def test_a_model_without_a_lexical_head_says_so():
    denoiser, vocabulary = model(lexical_hidden=0)
    with pytest.raises(UsageError, match="no lexical head"):
        recall_words(denoiser, vocabulary, np.zeros((1, 4), np.float32), [[1]], likeliest=3)


def test_it_is_not_computed_from_texts():
    assert WordRecall(20).label == "Word recall @ 20"
    with pytest.raises(TypeError, match="recall_words"):
        WordRecall(20).statistics([])
