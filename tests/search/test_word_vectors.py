"""A surrogate's vectors of single words are read once, and shared by whoever asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from counting import CountingEncoder

from unembed import Inverter
from unembed.compute.precision import computing, current_precision
from unembed.decode.strategy import InversionRun
from unembed.invert_config import InvertConfig
from unembed.model.bundled import BUNDLED
from unembed.model.word_vectors import WordVectors
from unembed.search.error_model import unit


def test_words_are_read_once_and_come_in_any_order(told: Inverter, encoder: CountingEncoder) -> None:
    model = told.checkpoint
    words = WordVectors(model.texts, len(model.vocabulary), encoder)
    encoder.texts.clear()
    some = words(np.array([7, 5, 7]))
    again = words(np.array([5, 6, 7]))
    assert sorted(encoder.texts) == sorted(model.texts([(5,), (6,), (7,)]))
    np.testing.assert_array_equal(some[[1, 0]], again[[0, 2]])
    np.testing.assert_allclose(again, unit(encoder.encode(model.texts([(5,), (6,), (7,)]))), rtol=1e-6)


def test_no_words_are_no_vectors(told: Inverter, encoder: CountingEncoder) -> None:
    model = told.checkpoint
    words = WordVectors(model.texts, len(model.vocabulary), encoder)
    encoder.texts.clear()
    assert words(np.zeros(0, dtype=np.int64)).shape == (0, encoder.info.dimension)
    assert encoder.texts == []


def test_each_precision_has_its_own(told: Inverter, encoder: CountingEncoder) -> None:
    """A run in float32 must not depend on whether another read the same words in bf16 before."""
    read: list[str | None] = []

    class Noting(CountingEncoder):
        def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
            read.append(current_precision())
            return super().encode(texts, batch_tokens=batch_tokens) + len(read)

    model = told.checkpoint
    words = WordVectors(model.texts, len(model.vocabulary), Noting())
    some = np.array([5, 6])
    with computing("bf16"):
        first = words(some)
    with computing("fp32"):
        second = words(some)
    with computing("bf16"):
        np.testing.assert_array_equal(words(some), first)
    assert read == ["bf16", "fp32"]
    assert not np.array_equal(first, second)


def test_a_model_keeps_those_of_its_own_surrogate(encoder: CountingEncoder) -> None:
    model = Inverter.from_pretrained(BUNDLED).checkpoint
    run = InversionRun(model, InvertConfig(), surrogate=model.surrogate)
    assert run.word_vectors is replace(run).word_vectors is model.word_vectors
    # Somebody else's say other things.
    others = replace(run, surrogate=encoder).word_vectors
    assert others is not None
    assert others is not model.word_vectors
    assert replace(run, surrogate=None).word_vectors is None
