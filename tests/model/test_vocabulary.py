import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.model.vocabulary import END, PAD, UNKNOWN, Vocabulary

counts = st.lists(st.integers(0, 5), min_size=2, max_size=40).filter(lambda c: max(c) >= 2)


@given(counts=counts, min_count=st.integers(1, 2), fixed=st.booleans(), data=st.data())
def test_kept_tokens_come_back_and_the_others_are_unknown(counts, min_count, fixed, data):
    vocabulary = Vocabulary.from_counts(np.array(counts), min_count=min_count, fixed_length=fixed)
    kept = {token for token, count in enumerate(counts) if count >= min_count}
    assert len(vocabulary) == len(kept) + (3 if fixed else 1)
    tokens = data.draw(st.lists(st.integers(0, len(counts) + 3), max_size=20))
    entries = vocabulary.encode(np.array(tokens, dtype=np.int64))
    assert vocabulary.decode(entries.tolist()) == [token for token in tokens if token in kept]
    assert all(
        (entry == vocabulary.unknown) == (token not in kept)
        for token, entry in zip(tokens, entries, strict=True)
    )


@given(counts=counts, size=st.integers(1, 8), data=st.data())
def test_a_closed_text_has_one_end_and_padding_after_it(counts, size, data):
    vocabulary = Vocabulary.from_counts(np.array(counts), fixed_length=True)
    lengths = np.array(data.draw(st.lists(st.integers(1, size), min_size=1, max_size=4)))
    known = np.nonzero(np.array(counts))[0]
    tokens = np.full((len(lengths), lengths.max()), -1, dtype=np.int64)
    for row, length in enumerate(lengths.tolist()):
        tokens[row, :length] = data.draw(st.lists(st.sampled_from(known), min_size=length, max_size=length))
    closed = vocabulary.close(vocabulary.encode(tokens), lengths, size)
    assert closed.shape == (len(lengths), size)
    for row, length in enumerate(lengths.tolist()):
        assert vocabulary.decode(closed[row].tolist()) == tokens[row, :length].tolist()
        assert closed[row, length : length + 1].tolist() == [vocabulary.end] * (length < size)
        assert (closed[row, length + 1 :] == vocabulary.pad).all()


def test_padding_is_unknown_and_any_shape_is_kept():
    vocabulary = Vocabulary.from_counts(np.array([0, 3, 0, 1]))
    assert vocabulary.encode(np.array([[1, 3], [2, -1]])).tolist() == [[0, 1], [2, 2]]
    assert vocabulary.token_ids.tolist() == [1, 3, UNKNOWN]
    assert not vocabulary.fixed_length


def test_the_end_closes_what_is_decoded():
    vocabulary = Vocabulary.from_counts(np.array([4, 4]), fixed_length=True)
    assert vocabulary.token_ids.tolist() == [0, 1, UNKNOWN, END, PAD]
    assert vocabulary.fixed_length
    assert vocabulary.decode([1, vocabulary.pad, vocabulary.unknown, 0, vocabulary.end, 1]) == [1, 0]


def test_a_vocabulary_for_given_lengths_has_no_end():
    with pytest.raises(TypeError, match="for given lengths"):
        _ = Vocabulary.from_counts(np.array([1])).end
