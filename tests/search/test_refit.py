"""Refitting an adapter's map during a search, on a toy encoder that is a linear map away."""

from __future__ import annotations

import numpy as np
import pytest
from rotated import DIM, Rotated

import tiny
import toy
from unembed import Inverter
from unembed.adaptation.fit_adapter import fit_adapter
from unembed.adaptation.pairs import Pairs
from unembed.model.adapted_checkpoint import AdaptedCheckpoint
from unembed.search import guided_strategy
from unembed.search.fresh_inversions import FRESH
from unembed.search.guided_search import GuidedSearch
from unembed.search.search_state import SearchState

PAIRS = 60
REFIT = {"strategy": "guided", "max_encoder_calls": 60, "refit_below": PAIRS + 1, "fresh_every": 1}


@pytest.fixture(params=["given", "fixed"])
def inverter(request: pytest.FixtureRequest) -> Inverter:
    native, encoder = toy.ToyEncoder(dimension=DIM), Rotated()
    fit_to = native.encode(toy.sentences(200))
    base = tiny.checkpoint(toy.wordpiece(), native.info, length=request.param, fit_to=fit_to)
    base.denoiser.double()  # so that the batch's size does not show in the last bits
    texts = toy.sentences(PAIRS, seed=7)
    pairs = Pairs(texts, encoder.encode(texts), "")
    model = AdaptedCheckpoint(base, *fit_adapter(base, native, pairs, encoder.info))
    return Inverter(model, encoder=Rotated(), base_encoder=native)


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[SearchState]:
    """What searches leave behind."""
    out: list[SearchState] = []

    class Kept(GuidedSearch):
        def run(self, *args, **more):
            found = super().run(*args, **more)
            out.extend(found)
            return found

    monkeypatch.setattr(guided_strategy, "GuidedSearch", Kept)
    return out


@pytest.fixture
def vectors() -> np.ndarray:
    return Rotated().encode(toy.sentences(3, seed=9))


def test_every_call_is_a_pair_and_fresh_inversions_compete(inverter, vectors, states):
    found = inverter.invert(vectors, **REFIT)
    assert inverter.encoder.seen == sum(one.encoder_calls for one in found)
    assert all(one.encoder_calls <= 60 for one in found)
    for state in states:
        assert len(state.local_map) == state.calls
        assert state.aim.shape == (DIM,)
    assert any(one.made_by == FRESH for state in states for one in state.tried.values())


def test_a_text_does_not_depend_on_its_batch(inverter, vectors):
    together = inverter.invert(vectors, **REFIT)
    alone = inverter.invert(vectors[2], **REFIT)
    # The toy's vectors say nothing of the order of words: rounding decides it.
    assert sorted(alone.tokens) == sorted(together[2].tokens)
    assert alone.encoder_calls == together[2].encoder_calls


def test_a_known_length_is_kept(inverter, vectors):
    if inverter.fixed_length:
        pytest.skip("it ends its texts by itself")
    found = inverter.invert(vectors, lengths=[5, 6, 7], **REFIT)
    assert [len(one.tokens) for one in found] == [5, 6, 7]


def test_an_adapter_of_enough_pairs_is_left_alone(inverter, vectors, states):
    inverter.invert(vectors[:1], **{**REFIT, "refit_below": PAIRS})
    assert states[0].local_map is None


def test_a_model_for_its_own_encoder_has_nothing_to_refit(states):
    native = toy.ToyEncoder(dimension=DIM)
    model = tiny.checkpoint(toy.wordpiece(), native.info, fit_to=native.encode(toy.sentences(200)))
    inverter = Inverter(model, encoder=native)
    vector = native.encode(toy.sentences(1, seed=9))[0]
    assert inverter.invert(vector, **REFIT) == inverter.invert(vector, **{**REFIT, "refit_below": 0})
    assert states[0].local_map is None
