"""Climbing by a surrogate: nearer texts by its word, none by anybody else's."""

from __future__ import annotations

import numpy as np
import pytest
from counting import CountingEncoder

import toy
from unembed import Inverter
from unembed.model.trigrams import Phrases
from unembed.model.word_vectors import WordVectors
from unembed.search.climb import TRIGRAM, Climb, Target
from unembed.search.error_model import unit
from unembed.search.word_edits import TRIGRAM as TRIGRAM_OF_EDITS
from unembed.search.word_edits import Wanted, _apply, _Edits, _trigram_gain, likely_words, word_edits


@pytest.fixture
def phrases(told: Inverter) -> Phrases:
    tokenizer, vocabulary = told.checkpoint.tokenizer, told.checkpoint.vocabulary
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in toy.sentences(300)]
    return Phrases.count([vocabulary.encode(np.array(some)).tolist() for some in ids], vocabulary)


@pytest.fixture
def wanted(told: Inverter) -> Wanted:
    size = len(told.checkpoint.vocabulary)
    worth = np.zeros(size, dtype=np.float32)
    return Wanted(likely_words(worth, size, [told.checkpoint.vocabulary.unknown]), worth)


def targets(told: Inverter, encoder: CountingEncoder, wanted: Wanted, **more: object) -> list[Target]:
    return [Target(vector, wanted, **more) for vector in unit(encoder.encode(toy.sentences(4, seed=5)))]


def starts(told: Inverter, count: int) -> list[list[tuple[int, ...]]]:
    tokenizer, vocabulary = told.checkpoint.tokenizer, told.checkpoint.vocabulary
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in toy.sentences(count, seed=9)]
    return [[tuple(vocabulary.encode(np.array(some[:8])).tolist())] for some in ids]


def climb(told: Inverter, encoder: CountingEncoder, phrases: Phrases) -> Climb:
    model = told.checkpoint
    return Climb(model, encoder, phrases, WordVectors(model.texts, len(model.vocabulary), encoder))


def test_more_rounds_find_texts_that_are_worth_more(told, encoder, phrases, wanted) -> None:
    best = []
    for rounds in (0, 1, 4):
        some = targets(told, encoder, wanted)
        climb(told, encoder, phrases).run(some, starts(told, 4), rounds)
        best.append([one.ranked()[0].value for one in some])
    assert all(one <= two <= three for one, two, three in zip(*best, strict=True))
    assert sum(best[2]) > sum(best[0])


def test_a_value_is_the_cosine_and_the_trigrams(told, encoder, phrases, wanted) -> None:
    [target, *_] = targets(told, encoder, wanted)
    climb(told, encoder, phrases).run([target], starts(told, 1), 2)
    for one in target.ranked()[:5]:
        [vector] = unit(encoder.encode([one.text]))
        [log_prob] = phrases.trigram_log_probs([one.entries])
        assert one.value == pytest.approx(float(vector @ target.vector) + TRIGRAM * log_prob, abs=1e-5)


def test_a_target_does_not_depend_on_the_others(told, encoder, phrases, wanted) -> None:
    together = targets(told, encoder, wanted)
    climb(told, encoder, phrases).run(together, starts(told, 4), 3)
    for row, one in enumerate(targets(told, encoder, wanted)):
        climb(told, encoder, phrases).run([one], [starts(told, 4)[row]], 3)
        assert one.ranked()[0].text == together[row].ranked()[0].text


def test_what_is_given_stays(told, encoder, phrases, wanted) -> None:
    begun = starts(told, 4)
    some = targets(told, encoder, wanted, first=2)
    climb(told, encoder, phrases).run(some, begun, 3)
    for target, [start] in zip(some, begun, strict=True):
        assert all(entries[:2] == start[:2] for entries in target.read)
    lengths = [
        Target(one.vector, wanted, length=len(start)) for one, [start] in zip(some, begun, strict=True)
    ]
    climb(told, encoder, phrases).run(lengths, begun, 3)
    for target in lengths:
        assert {len(entries) for entries in target.read} == {target.length}


def test_no_text_is_longer_than_the_model_reads(told, encoder, phrases, wanted) -> None:
    longest = told.checkpoint.config.denoiser.max_length
    some = targets(told, encoder, wanted)
    climb(told, encoder, phrases).run(some, [[(4,) * longest]] * len(some), 3)
    assert max(len(entries) for target in some for entries in target.read) == longest


def test_an_edits_trigrams_are_those_of_the_edited_text(phrases) -> None:
    text = (5, 7, 6, 8)
    kinds = np.repeat([0, 1, 2], [4, 5, 4])
    position = np.array([*range(4), *range(5), *range(4)])
    word = np.where(kinds == 2, 0, 9)
    edits = _Edits(kinds, position, word, np.zeros(len(kinds)))
    gains = _trigram_gain(np.array(text), edits, phrases)
    before = phrases.trigram_log_probs([text])[0]
    edited = [_apply(text, edits, row) for row in range(len(kinds))]
    assert [len(one) for one in edited] == [4] * 4 + [5] * 5 + [3] * 4
    assert gains == pytest.approx(np.array(phrases.trigram_log_probs(edited)) - before, abs=1e-9)


def test_the_edit_that_goes_along_what_is_lacking_comes_first(phrases) -> None:
    wanted = Wanted(np.array([9, 10]), np.zeros(12, dtype=np.float32))
    gap = 100 * TRIGRAM_OF_EDITS
    text, along = (5, 7, 6), np.array([0.0, gap], dtype=np.float32)
    own = np.array([0.0, -gap, 0.0], dtype=np.float32)
    found = word_edits(text, wanted, along, own, phrases, 5)
    assert found[0] == (5, 10, 6)
    assert len(found) == len(set(found)) == 5
    assert word_edits(text, wanted, along, own, phrases, 5, first=3, keep_length=True) == []


def test_likely_words_are_the_likeliest_but_the_banned() -> None:
    lexical = np.array([3.0, 9.0, 1.0, 7.0], dtype=np.float32)
    assert likely_words(lexical, 2, [1]).tolist() == [3, 0]
    assert likely_words(lexical, 9, [1]).tolist() == [3, 0, 2]
