"""What the model thinks of a text, against the chain rule done by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tiny
import toy
from unembed.decode.conditioned import ConditionedDenoiser
from unembed.decode.rank import NORMALISE, text_score
from unembed.decode.score import score_texts
from unembed.model.checkpoint import Checkpoint

TEXTS = [(5, 9, 7, 4, 6), (8, 8, 3, 10, 4), (12,)]


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info)
    model.denoiser.double()
    return model


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return toy.ToyEncoder(tokenizer=toy.wordpiece()).encode(toy.sentences(3)).astype(np.float64)


@torch.no_grad()
def by_hand(
    checkpoint: Checkpoint, text: tuple[int, ...], vector: np.ndarray, groups: list[list[int]]
) -> float:
    """Reveal group after group, each token of a group given the groups before it."""
    mask, total = checkpoint.denoiser.config.mask_id, 0.0
    e, length = torch.from_numpy(vector)[None], torch.tensor([len(text)])
    model = ConditionedDenoiser.read(checkpoint.denoiser, e, length, [checkpoint.vocabulary.unknown], 0.0)
    tokens = torch.full((1, len(text)), mask)
    for group in groups:
        wanted = torch.zeros_like(tokens, dtype=torch.bool)
        wanted[0, group] = True
        share = (tokens == mask).float().mean(dim=1)
        log_prob = torch.log_softmax(model.logits(tokens, share, wanted), dim=1)
        for number, place in enumerate(group):
            total += float(log_prob[number, text[place]])
            tokens[0, place] = text[place]
    return text_score(total, 0.0, len(text), normalise=NORMALISE)


@pytest.mark.parametrize(
    ("passes", "groups"),
    [
        (None, [[0], [1], [2], [3], [4]]),
        (5, [[0], [1], [2], [3], [4]]),
        (2, [[0, 2, 4], [1, 3]]),
        (4, [[0, 4], [2], [1], [3]]),
        (1, [[0, 1, 2, 3, 4]]),
    ],
)
def test_it_is_the_chain_rule(
    checkpoint: Checkpoint, vectors: np.ndarray, passes: int | None, groups: list[list[int]]
) -> None:
    scores = score_texts(checkpoint, TEXTS, vectors, length_known=True, passes=passes)
    for text, vector, score in zip(TEXTS, vectors, scores, strict=True):
        own = groups if len(text) > 1 else [[0]]
        assert score == pytest.approx(by_hand(checkpoint, text, vector, own), abs=1e-5)


def test_an_unknown_length_counts(checkpoint: Checkpoint, vectors: np.ndarray) -> None:
    known, unknown = (score_texts(checkpoint, TEXTS, vectors, length_known=how) for how in (True, False))
    logits = checkpoint.denoiser.length_logits(torch.from_numpy(vectors)).detach()[:, 1:]
    for row, text in enumerate(TEXTS):
        part = float(torch.log_softmax(logits[row], dim=0)[len(text) - 1])
        assert unknown[row] == pytest.approx(known[row] + part, abs=1e-5)
