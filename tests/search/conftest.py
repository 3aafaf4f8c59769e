"""A tiny model of each kind for the toy encoder."""

from __future__ import annotations

import numpy as np
import pytest
from counting import CountingEncoder

import tiny
import toy
from unembed import Inverter


def make_inverter(length: str, encoder: toy.ToyEncoder) -> Inverter:
    fit = encoder.encode(toy.sentences(200))
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, length=length, fit_to=fit)
    model.denoiser.double()  # so that the batch's size does not show in the last bits
    return Inverter(model, encoder=encoder)


@pytest.fixture
def encoder() -> CountingEncoder:
    return CountingEncoder(tokenizer=toy.wordpiece())


@pytest.fixture(params=["given", "fixed"])
def inverter(request: pytest.FixtureRequest, encoder: CountingEncoder) -> Inverter:
    """One that is told the length or guesses it, and one that ends its texts by itself, as the paper's."""
    out = make_inverter(request.param, encoder)
    encoder.texts.clear()
    return out


@pytest.fixture
def told(encoder: CountingEncoder) -> Inverter:
    """The former alone."""
    out = make_inverter("given", encoder)
    encoder.texts.clear()
    return out


@pytest.fixture
def vectors(encoder: CountingEncoder) -> np.ndarray:
    out = encoder.encode(toy.sentences(3, seed=9))
    encoder.texts.clear()
    return out
