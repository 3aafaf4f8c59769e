"""An encoder with a defence behind it is an encoder."""

from __future__ import annotations

import numpy as np
import pytest
from defence_cases import fresh

from toy import ToyEncoder
from unembed.defences import defence_names
from unembed.defences.defended_encoder import DefendedEncoder
from unembed.encoders.base import Encoder

TEXTS = ["one", "a longer text", "one"]


@pytest.mark.parametrize("name", defence_names())
def test_it_is_an_encoder_of_defended_vectors(name: str) -> None:
    clean = ToyEncoder(dimension=24)
    defence = fresh(name)
    defence.fit(clean.encode([f"text {number}" for number in range(300)]), seed=1)
    encoder = DefendedEncoder(clean, defence, seed=7)
    assert isinstance(encoder, Encoder)
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (3, encoder.info.dimension)
    np.testing.assert_array_equal(vectors, defence.apply(clean.encode(TEXTS), seed=7))
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert encoder.encode([]).shape == (0, encoder.info.dimension)
    assert encoder.tokenizer() is clean.tokenizer()


def test_digests_differ_from_the_clean_one_and_from_each_other() -> None:
    clean = ToyEncoder(dimension=24)
    digests = {clean.info.digest}
    for seed in (1, 2):
        for name in defence_names():
            defence = fresh(name)
            defence.fit(clean.encode([f"text {number}" for number in range(300)]), seed=seed)
            digests.add(DefendedEncoder(clean, defence, seed=seed).info.digest)
    assert len(digests) == 1 + 2 * len(defence_names())
