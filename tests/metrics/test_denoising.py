"""Denoising accuracy on a model whose every answer is known."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch

from unembed.metrics.denoising import DenoisingAccuracy, denoise
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary

Length = Literal["fixed", "given"]


def one_word_model(length: Length, word: int, words: int = 5) -> tuple[Denoiser, Vocabulary]:
    """Predicts the token `word` everywhere, whatever it is shown."""
    vocabulary = Vocabulary.from_counts(np.ones(words, dtype=np.int64), fixed_length=length == "fixed")
    config = DenoiserConfig(
        vector_dim=4,
        vocabulary=len(vocabulary),
        max_length=8,
        layers=1,
        block=BlockConfig(hidden=8, heads=2, ffn=8),
        length=length,
    )
    torch.manual_seed(0)
    denoiser = Denoiser(config).eval()
    with torch.no_grad():
        denoiser.output_bias[word] = 1e4
    return denoiser, vocabulary


def vectors(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)


@pytest.mark.parametrize("length", ["given", "fixed"])
def test_all_masked_counts_every_token(length: Length) -> None:
    denoiser, vocabulary = one_word_model(length, word=2)
    texts = [[2, 2, 1], [2], [3, 4, 1, 0, 2]]
    found = denoise(denoiser, vocabulary, vectors(3), texts, ratio=1.0, seeds=[0, 1, 2])
    np.testing.assert_array_equal(found, [[2, 3], [1, 1], [1, 5]])


def test_the_ratio_is_kept_and_at_least_one_is_masked() -> None:
    denoiser, vocabulary = one_word_model("given", word=2)
    texts = [[2] * 8, [2], [1, 1]]
    found = denoise(denoiser, vocabulary, vectors(3), texts, ratio=0.25, seeds=[5, 6, 7])
    np.testing.assert_array_equal(found, [[2, 2], [1, 1], [0, 1]])


def test_unknown_tokens_are_never_right() -> None:
    vocabulary = Vocabulary(np.array([0, 1, 2, -1], dtype=np.int32))
    denoiser, _ = one_word_model("given", word=3, words=3)  # would say UNKNOWN if it could
    found = denoise(denoiser, vocabulary, vectors(1), [[77, 77]], ratio=1.0, seeds=[0])
    np.testing.assert_array_equal(found, [[0, 2]])


def test_a_text_beyond_the_longest_is_cut() -> None:
    denoiser, vocabulary = one_word_model("given", word=2)
    found = denoise(denoiser, vocabulary, vectors(1), [[2] * 30], ratio=1.0, seeds=[0])
    np.testing.assert_array_equal(found, [[8, 8]])


def test_same_seed_same_masks_in_any_company() -> None:
    denoiser, vocabulary = one_word_model("given", word=2)
    texts = [[1, 2, 3, 2, 1, 2], [2, 2, 0], [4, 2, 1, 0]]
    together = denoise(denoiser, vocabulary, vectors(3), texts, ratio=0.5, seeds=[1, 2, 3])
    alone = denoise(denoiser, vocabulary, vectors(3)[2:], texts[2:], ratio=0.5, seeds=[3])
    np.testing.assert_array_equal(together[2:], alone)


def test_its_name_says_its_ratio() -> None:
    assert DenoisingAccuracy(0.1).label == "Denoising accuracy @ 0.1"
    with pytest.raises(TypeError, match="measures the model"):
        DenoisingAccuracy(0.1).statistics([])
