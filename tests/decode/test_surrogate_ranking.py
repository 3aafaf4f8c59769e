"""A surrogate of the encoder chooses among a vector's hypotheses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tiny
import toy
from unembed import Inverter
from unembed.decode.invert_batch import invert_batch
from unembed.decode.registry import make_decoder
from unembed.decode.surrogate_ranking import surrogate_cosines
from unembed.errors import UsageError
from unembed.invert_config import QUALITIES, InvertConfig


class Fixed(toy.ToyEncoder):
    """Sends one text to the first axis and every other to the second; counts what it embeds."""

    wanted = ""
    seen: tuple[str, ...] = ()

    def encode(self, texts: Sequence[str], **how: object) -> np.ndarray:
        self.seen = (*self.seen, *texts)
        out = np.zeros((len(texts), self.info.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            out[row, 0 if text == self.wanted else 1] = 1.0
        return out


@pytest.fixture(scope="module")
def model():
    tokenizer = toy.wordpiece()
    return tiny.checkpoint(tokenizer, toy.ToyEncoder(tokenizer=tokenizer).info)


@pytest.fixture
def vector(model) -> np.ndarray:
    vector = np.zeros((1, model.config.encoder.dimension), dtype=np.float32)
    vector[0, 0] = 1.0
    return vector


def texts_of(found) -> list[str]:
    return [found.text, *(one.text for one in found.alternatives)]


def test_the_text_that_comes_nearest_by_the_surrogate_is_first(model, vector):
    config = InvertConfig(n_best=5)
    [by_score] = invert_batch(model, vector, None, make_decoder(), config)
    assert by_score.ranked_by == "score"
    for wanted in texts_of(by_score):
        surrogate = Fixed(tokenizer=model.tokenizer)
        surrogate.wanted = wanted
        [found] = invert_batch(model, vector, None, make_decoder(), config, None, surrogate)
        assert found.text == wanted
        assert found.ranked_by == "surrogate"
        assert sorted(texts_of(found)) == sorted(texts_of(by_score))
        assert len(surrogate.seen) == len(set(surrogate.seen)), "a text is embedded once"


def test_the_quality_says_among_how_many(model, vector):
    counts = []
    for quality in QUALITIES:
        surrogate = Fixed(tokenizer=model.tokenizer)
        invert_batch(model, vector, None, make_decoder(), InvertConfig(quality=quality), None, surrogate)
        counts.append(len(surrogate.seen))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_cosines_are_of_each_text_to_its_own_vector():
    tokenizer = toy.wordpiece()
    encoder, texts = toy.ToyEncoder(tokenizer=tokenizer), toy.sentences(3)
    vectors = encoder.encode(texts) * 7.0
    assert surrogate_cosines(encoder, texts, vectors) == pytest.approx([1.0] * 3, abs=1e-6)
    crossed = surrogate_cosines(encoder, [texts[0], texts[0]], vectors[[0, 1]])
    assert crossed[0] == pytest.approx(1.0, abs=1e-6)
    assert crossed[1] < 0.999


def test_a_surrogate_that_is_asked_for_must_be_there(model, vector):
    with pytest.raises(UsageError, match="no surrogate"):
        Inverter(model).invert(vector, ranking="surrogate")
    assert Inverter(model).invert(vector)[0].ranked_by == "score"


def test_the_bundled_model_is_ranked_by_its_surrogate(bundled):
    vectors = bundled.encode(["Please do not tell anyone about this."])
    assert bundled.invert(vectors)[0].ranked_by == "surrogate"
    assert bundled.invert(vectors, ranking="score")[0].ranked_by == "score"
