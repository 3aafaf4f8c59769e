"""Long texts: words are read off the vector and counted beside the collection's commonest; no sentences."""

from __future__ import annotations

import numpy as np
from audit_cases import MakeCase

import toy
from unembed.audit.likely_words import LikelyWords, common_in, words_of
from unembed.audit.long_chunks import read_long
from unembed.audit.long_vectors import look_long
from unembed.inverter import Inverter
from unembed.personal import Entity, Kind

LONG = " ".join(toy.sentences(6))


def test_words_that_count() -> None:
    assert words_of("The cats of Anna, in 1999: a café!") == {"cats", "anna", "cafe"}
    assert common_in(["the cat sat", "a cat ran", "the dog"], 1) == ["cat"]


def test_long_texts_are_sorted_out_and_only_their_words_reported(make_case_of: MakeCase) -> None:
    case = make_case_of(["the cat sees the dog", LONG, LONG], others=["the cat sees the ship"] * 3)
    assert (case.summary.short, case.summary.long, case.summary.long_decided_by) == (1, 2, "texts")
    names = [[Entity(Kind.NAME, "Anna", 0, 4)], []]
    found = read_long(case, names)
    assert found is not None
    assert [one.k for one in found.words] == [10, 50]
    assert found.words[0].precision.n == 2
    assert found.words[0].floor_precision is not None
    assert found.words[0].floor_precision.value > 0  # cat and ship, of ten
    assert found.names == 1
    assert found.median_tokens is not None
    assert found.median_tokens > 24
    assert "no sentence is made up" in found.note


def test_likely_words_are_words(toy_inverter: Inverter) -> None:
    vectors = toy_inverter.encode(toy.sentences(3))
    read = LikelyWords(toy_inverter).read(vectors, 10)
    assert [len(words) for words in read] == [10, 10, 10]
    assert all(words_of(word) == {word} for words in read for word in words)


def test_without_a_calibration_no_vector_is_called_long(make_case_of: MakeCase) -> None:
    case = make_case_of([None, None])
    assert case.summary.long_decided_by == "vectors"
    assert look_long(case.chosen, [np.ones(16, dtype=np.float32)], None) == [False]
