"""Single edits are ranked by their words alone before the surrogate reads a text of them."""

from __future__ import annotations

import numpy as np
import pytest
from counting import CountingEncoder

from unembed import Inverter
from unembed.model.word_vectors import WordVectors
from unembed.search.error_model import GPErrorModel, unit
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.objective import Objective
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.single_edits import Neighbour
from unembed.search.word_ranking import TRIGRAM_WORTH, order_by_words

TEXT = (4, 4, 6, 8, 5)


def word_vectors(told: Inverter, encoder: CountingEncoder) -> WordVectors:
    return WordVectors(told.checkpoint.texts, len(told.checkpoint.vocabulary), encoder)


@pytest.fixture
def words(told: Inverter, encoder: CountingEncoder) -> np.ndarray:
    """The surrogate's unit vector of each entry alone.  # [12, D]"""
    return unit(encoder.encode(told.checkpoint.texts([(entry,) for entry in range(12)])))


def test_what_goes_along_what_is_lacking_comes_first(
    told: Inverter, encoder: CountingEncoder, words: np.ndarray
) -> None:
    known = word_vectors(told, encoder)
    lack = (words[7] - words[5]).astype(np.float32)
    edits = [
        Neighbour((1,), 0.0, added=7, removed=None),
        Neighbour((2,), 0.0, added=None, removed=7),
        Neighbour((3,), 0.0, added=7, removed=5),
        Neighbour((4,), 0.0, added=5, removed=7),
    ]
    assert order_by_words(known, edits, lack, None)[[0, 1, 3]].tolist() == [2, 0, 3]
    # A text that nobody would write may lose its lead.
    gap = float(abs(words @ lack).max()) * 4 / TRIGRAM_WORTH
    log_probs = np.array([0.0, 0.0, -gap, 0.0], dtype=np.float32)
    assert order_by_words(known, edits, lack, log_probs)[-1] == 2


def test_of_edits_with_the_same_words_the_one_that_the_denoiser_finds_likelier_comes_first(
    told: Inverter, encoder: CountingEncoder
) -> None:
    known = word_vectors(told, encoder)
    edits = [Neighbour((number,), -float(number), added=7, removed=5) for number in (2, 1, 3)]
    lack = np.ones(encoder.info.dimension, np.float32)
    assert order_by_words(known, edits, lack, None).tolist() == [1, 0, 2]
    # Where the trigrams say otherwise, they may well be right.
    log_probs = np.array([0.0, -100.0, 0.0], dtype=np.float32)
    assert order_by_words(known, edits, lack, log_probs).tolist() == [0, 2, 1]


def test_each_word_is_embedded_once(told: Inverter, encoder: CountingEncoder) -> None:
    known = word_vectors(told, encoder)
    edits = [Neighbour((word,), 0.0, added=word, removed=6) for word in (7, 8, 7)]
    encoder.texts.clear()
    for _ in range(2):
        order_by_words(known, edits, np.ones(encoder.info.dimension, np.float32), None)
    assert len(encoder.texts) == len(set(encoder.texts)) == 3


def test_the_surrogate_reads_only_the_promising_ones(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    def explored(single_edits: int) -> list[tuple[int, ...]]:
        settings = GuidedSettings(
            words_per_position=4,
            missing_words=6,
            moves=0,
            pairs=0,
            single_edits=single_edits,
            first_look=1,
        )
        target = unit(vectors[:1])[0]
        model = GPErrorModel(target)
        state = SearchState(target, np.random.default_rng(0), settings, Objective(), error_model=model)
        parent = Hypothesis(TEXT, "parent", unit(vectors[1:2])[0], 0.5, "test")
        prefilter = SurrogatePrefilter(encoder, 3)
        Neighbourhood(told.checkpoint, settings, prefilter, None).explore([(state, parent)], target[None])
        return state.neighbours.pools["parent"].entries

    every, few, more = explored(0), explored(2), explored(5)
    assert len(few) == 4  # two of the likely words, two of those that the text lacks
    assert set(few) < set(more) < set(every)
    assert explored(1000) == every
