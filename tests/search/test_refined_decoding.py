"""A decoder's texts are refined where a surrogate can say how: and nothing else about them changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tiny
import toy
from unembed import Inverter
from unembed.decode.registry import make_decoder
from unembed.decode.strategy import Decoding, InversionRun
from unembed.invert_config import QUALITIES, InvertConfig
from unembed.model.trigrams import Phrases
from unembed.search.guided_strategy import Guided
from unembed.search.refined_decoding import RefinedDecoding
from unembed.search.settings import GuidedSettings


@pytest.fixture(scope="module")
def encoder() -> toy.ToyEncoder:
    return toy.ToyEncoder(tokenizer=toy.wordpiece())


@pytest.fixture(scope="module")
def inverter(encoder) -> Inverter:
    fit_to = encoder.encode(toy.sentences(100))
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=fit_to)
    model.denoiser.double()  # so that the batch's size does not show in the last bits
    return Inverter(model, encoder=encoder)


@pytest.fixture(scope="module")
def phrases(inverter) -> Phrases:
    tokenizer, vocabulary = inverter.checkpoint.tokenizer, inverter.checkpoint.vocabulary
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in toy.sentences(300)]
    return Phrases.count([vocabulary.encode(np.array(some)).tolist() for some in ids], vocabulary)


@pytest.fixture(scope="module")
def vectors(encoder) -> np.ndarray:
    return encoder.encode(toy.sentences(5, seed=3)).astype(np.float32)


@pytest.fixture
def run(inverter, encoder, phrases) -> InversionRun:
    """The toy encoder stands in for a surrogate of itself: a perfect one."""
    config = InvertConfig(refine=3)
    return InversionRun(inverter.checkpoint, config, surrogate=encoder, phrases=phrases)


REFINED = RefinedDecoding(make_decoder())


def cosines(encoder, vectors, found) -> np.ndarray:
    read = encoder.encode([one.text for one in found])
    norms = np.linalg.norm(read, axis=1) * np.linalg.norm(vectors, axis=1)
    return (read * vectors).sum(axis=1) / norms


def test_refined_texts_come_nearer(run, encoder, vectors):
    plain = Decoding(make_decoder()).invert(run, vectors, None)
    refined = REFINED.invert(run, vectors, None)
    assert cosines(encoder, vectors, refined).mean() > cosines(encoder, vectors, plain).mean() + 0.05
    for one in refined:
        assert one.ranked_by == "surrogate"
        assert len(one.log_probs) == len(one.tokens)
        assert one.encoder_calls == 0


def test_a_text_does_not_depend_on_its_batch(run, vectors):
    together = REFINED.invert(run, vectors, None)
    apart = [REFINED.invert(replace(run, memory={}), vectors[row : row + 1], None)[0] for row in range(5)]
    assert [one.text for one in together] == [one.text for one in apart]


def test_as_many_texts_as_are_wanted(run, vectors):
    for count in (1, 4):
        asked = replace(run, config=InvertConfig(refine=3, n_best=count))
        for one in REFINED.invert(asked, vectors, None):
            texts = [one.text, *(other.text for other in one.alternatives)]
            assert len(texts) == len(set(texts)) == count


def test_the_trace_ends_with_the_text(run, vectors):
    traced = replace(run, config=InvertConfig(refine=3, trace=True))
    for one in REFINED.invert(traced, vectors, None):
        assert one.trace is not None
        assert one.trace[-1].text == one.text


def test_without_what_it_goes_by_the_decoders_text_stays(run, vectors):
    plain = Decoding(make_decoder()).invert(run, vectors, None)
    for lame in (replace(run, phrases=None), replace(run, config=InvertConfig(refine=0))):
        found = REFINED.invert(lame, vectors, None)
        assert [one.text for one in found] == [one.text for one in plain]


def test_a_quality_says_how_many_rounds_there_are():
    assert [QUALITIES[name].refine for name in QUALITIES] == sorted(one.refine for one in QUALITIES.values())
    assert InvertConfig(quality="best", refine=0).with_effort().refine == 0


def test_a_vector_that_was_given_up_gets_no_text(run, vectors):
    def observe(updates):
        return [one.row != 2 for one in updates]

    found = REFINED.invert(replace(run, observe=observe, rows=range(5)), vectors, None)
    assert [bool(one.text) for one in found] == [True, True, False, True, True]


def test_a_climb_begins_after_half_of_the_passes_unless_they_are_given(run, vectors):
    def passes(**fields: object) -> int:
        config = InvertConfig(num_lengths=1, hypotheses=1, **fields)
        found = REFINED.invert(replace(run, config=config), vectors, None)
        return max(one.forward_passes for one in found)

    usual = QUALITIES["balanced"].steps
    assert usual is not None
    assert passes(refine=0) <= usual
    assert passes(refine=1) < passes(refine=1, steps=usual)


def test_a_guided_search_starts_from_refined_texts(run, encoder, vectors):
    """By its first calls it has what the surrogate finds without any."""

    def first(rounds: int) -> np.ndarray:
        settings = GuidedSettings(max_encoder_calls=3, num_starts=3, refine_starts=rounds)
        guided = replace(run, encoder=encoder, config=InvertConfig(strategy="guided"), memory={})
        return cosines(encoder, vectors, Guided(settings).invert(guided, vectors, None))

    assert first(6).mean() > first(0).mean() + 0.05


def test_where_nothing_can_refine_the_search_starts_from_the_decoders_texts(run, encoder, vectors):
    def texts(rounds: int) -> list[str]:
        settings = GuidedSettings(max_encoder_calls=3, num_starts=3, refine_starts=rounds)
        config = InvertConfig(strategy="guided")
        alone = replace(run, encoder=encoder, config=config, surrogate=None, memory={})
        return [one.text for one in Guided(settings).invert(alone, vectors, None)]

    assert texts(6) == texts(0)
