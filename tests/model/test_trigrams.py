"""Phrases are a language model: probabilities that sum to one, by the counts of texts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.errors import DataError, MismatchError
from unembed.model import trigrams as module
from unembed.model.trigrams import DISCOUNT, RATIO, SMOOTHING, Phrases
from unembed.model.vocabulary import UNKNOWN, Vocabulary

SIZE = 5
BEGIN, END = SIZE, SIZE + 1
VOCABULARY = Vocabulary(np.array([10, 11, 12, 13, UNKNOWN], dtype=np.int32))
texts = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=6), min_size=1, max_size=12)


def next_words(phrases: Phrases, before: list[int]) -> np.ndarray:
    """p(c | before) of every word and of the end, by differences of whole texts.  # [SIZE + 1]"""
    [ended] = phrases.trigram_log_probs([before])
    # log p(before, c, end) - log p(end | ... c) is not asked for: the private method is the definition.
    first = before[-2] if len(before) > 1 else BEGIN
    second = before[-1] if before else BEGIN
    every = np.array([*range(SIZE), END])
    n = len(every)
    out: np.ndarray = phrases._probability(np.full(n, first), np.full(n, second), every)
    assert np.isfinite(ended)
    return out


@given(texts, st.lists(st.integers(0, SIZE - 1), max_size=3), st.integers(1, 3), st.integers(1, 3))
def test_the_next_words_probabilities_sum_to_one(
    corpus: list[list[int]], before: list[int], min_pairs: int, min_triples: int
) -> None:
    phrases = Phrases.count(corpus, VOCABULARY, min_pairs=min_pairs, min_triples=min_triples)
    probabilities = next_words(phrases, before)
    assert probabilities.min() > 0
    assert probabilities.sum() == pytest.approx(1)


@given(texts, texts)
def test_a_texts_probability_is_the_product_of_its_words(
    corpus: list[list[int]], new: list[list[int]]
) -> None:
    phrases = Phrases.count(corpus, VOCABULARY, min_pairs=1, min_triples=1)
    for text, found in zip(new, phrases.trigram_log_probs(new), strict=True):
        wanted = sum(
            np.log(next_words(phrases, text[:place])[word])
            for place, word in enumerate([*text, SIZE])  # the end is the last of next_words
        )
        assert found == pytest.approx(wanted)


def kept(count: int) -> float:
    """Counts are kept as powers."""
    return float(RATIO ** round(np.log(count) / np.log(RATIO)))


def naive(corpus: list[list[int]], first: int | None, second: int, third: int) -> float:
    """The docstring's equations, by dictionaries."""
    closed = [[BEGIN, *text, END] for text in corpus]
    pairs = Counter(pair for text in closed for pair in pairwise(text))
    triples = Counter(three for text in closed for three in zip(text, text[1:], text[2:], strict=False))
    behind = Counter(right for _, right in pairs)
    words = (behind[third] + SMOOTHING) / sum(behind[word] + SMOOTHING for word in [*range(SIZE), END])

    def discounted(counts: dict[int, float], total: float, lower: float) -> float:
        total = max(total, sum(counts.values()))
        if not total:
            return lower
        shares = {word: max(count - DISCOUNT, 0) / total for word, count in counts.items()}
        return shares.get(third, 0) + (1 - sum(shares.values())) * lower

    after = {c: n for (b, c), n in pairs.items() if b == second}
    by_pair = discounted({c: kept(n) for c, n in after.items()}, sum(after.values()), words)
    if first is None or (first, second) not in pairs:
        return by_pair
    after = {c: n for (a, b, c), n in triples.items() if (a, b) == (first, second)}
    total = kept(pairs[first, second])
    return discounted({c: kept(n) for c, n in after.items()}, total, by_pair)


@given(texts, st.integers(0, SIZE - 1), st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
def test_it_is_absolute_discounting(corpus: list[list[int]], first: int, second: int, third: int) -> None:
    phrases = Phrases.count(corpus, VOCABULARY, min_pairs=1, min_triples=1)
    one = np.array([first]), np.array([second]), np.array([third])
    assert phrases._probability(*one)[0] == pytest.approx(naive(corpus, first, second, third))
    begun = np.array([BEGIN]), np.array([BEGIN]), np.array([third])
    assert phrases._probability(*begun)[0] == pytest.approx(naive(corpus, None, BEGIN, third))


def test_sentences_are_likelier_than_their_words_in_another_order() -> None:
    phrases = Phrases.count([[0, 1, 2, 3]] * 5 + [[1, 2, 0]] * 3, VOCABULARY)
    right, wrong = phrases.trigram_log_probs([[0, 1, 2, 3], [3, 1, 0, 2]])
    assert right > wrong + 1


def test_what_occurs_seldom_is_not_kept() -> None:
    corpus = [[0, 1, 2]] * 3 + [[3, 1]]
    some = Phrases.count(corpus, VOCABULARY, min_pairs=2, min_triples=3)
    assert len(some.pairs) == 4  # begin 0, 0 1, 1 2, 2 end
    assert len(some.triples) == 3
    every = Phrases.count(corpus, VOCABULARY, min_pairs=1, min_triples=1)
    assert len(every.pairs) == 7
    assert len(every.triples) == 5
    assert some.totals[1] == 4  # what was not kept is still counted


@pytest.mark.parametrize("at_once", [1, 3, 10_000])
def test_it_does_not_matter_how_much_is_counted_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = [[0, 1, 2], [], [1], [0, 1, 2, 3], [0, 1, 1]]
    wanted = Phrases.count(corpus, VOCABULARY, min_pairs=1, min_triples=1)
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    found = Phrases.count(corpus, VOCABULARY, min_pairs=1, min_triples=1)
    np.testing.assert_array_equal(found.triples, wanted.triples)
    assert found.trigram_log_probs(corpus) == wanted.trigram_log_probs(corpus)


@given(texts, texts)
def test_what_is_read_says_the_same_as_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[int]], new: list[list[int]]
) -> None:
    file = tmp_path_factory.mktemp("phrases") / "phrases.npz"
    phrases = Phrases.count(corpus, VOCABULARY, min_pairs=1, min_triples=1)
    phrases.save(file)
    assert Phrases.load(file, VOCABULARY).trigram_log_probs(new) == phrases.trigram_log_probs(new)


def test_no_text_has_no_probability() -> None:
    assert Phrases.count([[1]], VOCABULARY).trigram_log_probs([]) == []


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "phrases.npz"
    Phrases.count([[0, 1, 2]] * 4, VOCABULARY).save(file)
    whole = file.read_bytes()
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"no zip at all"):
        file.write_bytes(damaged)
        with pytest.raises(DataError, match="is damaged"):
            Phrases.load(file, VOCABULARY)
    changed = bytearray(whole)
    changed[whole.index(b"totals.npy") + 200] ^= 0xFF
    file.write_bytes(bytes(changed))
    with pytest.raises(DataError, match="is damaged"):
        Phrases.load(file, VOCABULARY)


def test_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    file = tmp_path / "phrases.npz"
    np.savez(file, format=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="is damaged"):
        Phrases.load(file, VOCABULARY)


def test_phrases_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "phrases.npz"
    Phrases.count([[0, 1]] * 4, VOCABULARY).save(file)
    other = Vocabulary(np.array([10, 11, 12, 14, UNKNOWN], dtype=np.int32))
    with pytest.raises(MismatchError, match="another vocabulary"):
        Phrases.load(file, other)
