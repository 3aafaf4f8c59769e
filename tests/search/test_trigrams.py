"""A search that knows phrases prefers sentences, and asks the denoiser for no score."""

from __future__ import annotations

import numpy as np
import pytest
from counting import CountingEncoder

import toy
from unembed import Inverter
from unembed.model.phrases import Phrases
from unembed.search import guided_search as module
from unembed.search.edits import moves
from unembed.search.error_model import Beliefs, Scout
from unembed.search.guided_search import GuidedSearch
from unembed.search.neighbourhood import Survey
from unembed.search.search_state import Hunt, Hypothesis, Leftovers
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


@pytest.mark.parametrize("scouted", [False, True])
def test_every_text_is_scored_by_its_phrases_and_none_by_the_denoiser(
    told: Inverter,
    encoder: CountingEncoder,
    vectors: np.ndarray,
    phrases: Phrases,
    scouted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the denoiser was asked for a score")

    monkeypatch.setattr(module, "score_texts", never)
    scout = encoder if scouted else None
    search = GuidedSearch(told.checkpoint, encoder, SETTINGS, scout=scout, phrases=phrases)
    for hunt in search.run(vectors, starts(told, vectors)):
        assert hunt.calls == 60
        assert not hunt.scores
        assert set(hunt.said) == set(hunt.tried)
        for text, one in hunt.tried.items():
            [wanted] = phrases.log_probs([one.entries])
            assert hunt.said[text] == pytest.approx(wanted, rel=1e-5)
        values = [hunt.value(one) for one in hunt.beam]
        assert values == sorted((hunt.value(one) for one in hunt.tried.values()), reverse=True)[: len(values)]


def test_where_an_imitation_guides_the_denoisers_word_counts_too(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, phrases: Phrases
) -> None:
    other = CountingEncoder(tokenizer=toy.wordpiece(), name="imitation")
    other.info = other.info.model_copy(update={"digest": "another"})
    settings = SETTINGS.model_copy(
        update={"trigram_weight_by_surrogate": 0.01, "denoiser_weight_by_surrogate": 0.02}
    )
    for hunt in GuidedSearch(told.checkpoint, other, settings, phrases=phrases).run(
        vectors, starts(told, vectors)
    ):
        assert hunt.scores
        for one in hunt.beam:
            both = 0.02 * hunt.scores[one.text] + 0.01 * hunt.said[one.text]
            assert hunt.value(one) == pytest.approx(one.cosine + both)
        assert hunt.best is not None
        assert hunt.value(hunt.best) == pytest.approx(hunt.value(hunt.beam[0]))


def test_the_same_seed_gives_the_same_result(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, phrases: Phrases
) -> None:
    def found() -> list[list[tuple[str, float]]]:
        search = GuidedSearch(told.checkpoint, encoder, SETTINGS, scout=encoder, phrases=phrases)
        hunts = search.run(vectors, starts(told, vectors))
        return [[(one.text, one.cosine) for one in hunt.tried.values()] for hunt in hunts]

    assert found() == found()


def test_of_two_that_look_equally_near_the_likelier_one_comes_first() -> None:
    target = np.array([1.0, 0.0], np.float32)
    hunt = Hunt(
        target, np.random.default_rng(0), 9, 1, near_enough=2.0, phrasing=0.01, beliefs=Beliefs(target)
    )
    look = np.array([[0.8, 0.6], [0.8, -0.6], [0.81, 0.586]], np.float32)
    left = Leftovers(["a", "b", "c"], [(1,), (2,), (3,)], look)
    assert hunt.ranked(left)[0] == 2
    left.said = np.array([-30.0, -20.0, -25.0], np.float32)
    assert hunt.ranked(left) == [1, 2, 0]


def test_moves_are_looked_at_where_the_phrases_are_likeliest(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, phrases: Phrases
) -> None:
    settings = SETTINGS.model_copy(update={"moves": 7})
    survey = Survey(told.checkpoint, settings, Scout(encoder), phrases)
    text = (4, 9, 6, 8, 5)
    hunt = Hunt(vectors[0], np.random.default_rng(0), 9, 1, near_enough=2.0)
    found = survey._moves(hunt, Hypothesis(text, "", vectors[0], 0.0, "test"), deep=False)
    ranked = sorted(moves(text), key=lambda one: -phrases.log_probs([one])[0])
    assert sorted(phrases.log_probs(found)) == pytest.approx(sorted(phrases.log_probs(ranked[:7])))
