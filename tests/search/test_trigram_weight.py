"""A search that knows trigrams prefers sentences, and asks the denoiser for no score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from counting import CountingEncoder

import toy
from unembed import Inverter
from unembed.model.trigrams import Phrases
from unembed.search import guided_search as module
from unembed.search.candidate_pool import CandidatePool
from unembed.search.edits import moves
from unembed.search.error_model import GPErrorModel
from unembed.search.guided_search import GuidedSearch
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.objective import Objective
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings

SETTINGS = GuidedSettings(
    max_encoder_calls=60,
    beam_width=2,
    proposals=2,
    neighbours=6,
    words_per_position=4,
    trigram_weight=0.01,
    target_cosine=2.0,
)


@pytest.fixture
def phrases(told: Inverter) -> Phrases:
    tokenizer, vocabulary = told.checkpoint.tokenizer, told.checkpoint.vocabulary
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in toy.sentences(300)]
    return Phrases.count([vocabulary.encode(np.array(some)).tolist() for some in ids], vocabulary)


def starts(told: Inverter, vectors: np.ndarray) -> list[list[tuple[int, ...]]]:
    found = told.invert(vectors, check=False)
    return [[tuple(told.checkpoint.vocabulary.encode(np.array(one.tokens)).tolist())] for one in found]


@pytest.mark.parametrize("prefiltered", [False, True])
def test_every_text_is_scored_by_its_trigrams_and_none_by_the_denoiser(
    told: Inverter,
    encoder: CountingEncoder,
    vectors: np.ndarray,
    phrases: Phrases,
    prefiltered: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the denoiser was asked for a score")

    monkeypatch.setattr(module, "score_texts", never)
    surrogate = encoder if prefiltered else None
    search = GuidedSearch(told.checkpoint, encoder, SETTINGS, surrogate=surrogate, phrases=phrases)
    for state in search.run(vectors, starts(told, vectors)):
        assert state.calls == 60
        assert not state.denoiser_scores
        assert set(state.trigram_log_probs) == set(state.tried)
        for text, one in state.tried.items():
            [wanted] = phrases.trigram_log_probs([one.entries])
            assert state.trigram_log_probs[text] == pytest.approx(wanted, rel=1e-5)
        values = [state.value(one) for one in state.beam]
        assert (
            values == sorted((state.value(one) for one in state.tried.values()), reverse=True)[: len(values)]
        )


def test_where_a_surrogate_guides_the_denoisers_score_counts_too(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, phrases: Phrases
) -> None:
    other = CountingEncoder(tokenizer=toy.wordpiece(), name="surrogate")
    other.info = other.info.model_copy(update={"digest": "another"})
    settings = SETTINGS.model_copy(
        update={"trigram_weight_by_surrogate": 0.01, "denoiser_weight_by_surrogate": 0.02}
    )
    for state in GuidedSearch(told.checkpoint, other, settings, phrases=phrases).run(
        vectors, starts(told, vectors)
    ):
        assert state.denoiser_scores
        for one in state.beam:
            both = 0.02 * state.denoiser_scores[one.text] + 0.01 * state.trigram_log_probs[one.text]
            assert state.value(one) == pytest.approx(one.cosine + both)
        assert state.best is not None
        assert state.value(state.best) == pytest.approx(state.value(state.beam[0]))


def test_the_same_seed_gives_the_same_result(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, phrases: Phrases
) -> None:
    def found() -> list[list[tuple[str, float]]]:
        search = GuidedSearch(told.checkpoint, encoder, SETTINGS, surrogate=encoder, phrases=phrases)
        states = search.run(vectors, starts(told, vectors))
        return [[(one.text, one.cosine) for one in state.tried.values()] for state in states]

    assert found() == found()


def test_of_two_that_look_equally_near_the_likelier_one_comes_first() -> None:
    target = np.array([1.0, 0.0], np.float32)
    model = GPErrorModel(target)
    look = np.array([[0.8, 0.6], [0.8, -0.6], [0.81, 0.586]], np.float32)
    pool = CandidatePool(["a", "b", "c"], [(1,), (2,), (3,)], look)
    assert pool.ranked(model, 0.01)[0] == 2
    pool = replace(pool, trigram_log_probs=np.array([-30.0, -20.0, -25.0], np.float32))
    assert pool.ranked(model, 0.01) == [1, 2, 0]


def test_moves_are_tried_where_the_trigrams_are_likeliest(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, phrases: Phrases
) -> None:
    settings = SETTINGS.model_copy(update={"moves": 7})
    neighbourhood = Neighbourhood(told.checkpoint, settings, SurrogatePrefilter(encoder, 3), phrases)
    text = (4, 9, 6, 8, 5)
    state = SearchState(vectors[0], np.random.default_rng(0), settings, Objective())
    found = neighbourhood._moves(state, Hypothesis(text, "", vectors[0], 0.0, "test"), deep=False)
    ranked = sorted(moves(text), key=lambda one: -phrases.trigram_log_probs([one])[0])
    assert sorted(phrases.trigram_log_probs(found)) == pytest.approx(
        sorted(phrases.trigram_log_probs(ranked[:7]))
    )
