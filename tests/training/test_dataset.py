"""Prepared folders as one dataset: filtered, limited, read by index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unembed.data.prepared import PreparedData
from unembed.errors import DataError
from unembed.training.dataset import TrainingTexts


@pytest.fixture(scope="module")
def data(toy_data):
    return PreparedData.open(toy_data)


def test_texts_are_filtered_and_limited(data):
    split = data.split("train")
    texts = TrainingTexts([split], min_tokens=7, max_tokens=9)
    assert set(texts.lengths) == {7, 8, 9}
    assert len(texts) == sum(7 <= length <= 9 for length in split.lengths)
    few = TrainingTexts([split], min_tokens=7, max_tokens=9, limit=10)
    assert len(few) == 10
    assert set(few.texts(np.arange(10))) <= set(texts.texts(np.arange(len(texts))))
    assert len(TrainingTexts([split], min_tokens=7, max_tokens=9, limit=10**6)) == len(texts)
    with pytest.raises(DataError, match="No text of 90 to 99 tokens"):
        TrainingTexts([split], min_tokens=90, max_tokens=99)


@settings(max_examples=20)
@given(chosen=st.lists(st.integers(0, 999), min_size=1, max_size=20))
def test_several_folders_are_one(data, chosen):
    """Tokens, vectors and texts of a mix of two folders are each folder's own."""
    one, two = data.split("train"), data.split("validation")
    both = TrainingTexts([two, one], min_tokens=1, max_tokens=99)
    assert len(both) == len(one) + len(two)
    indices = np.array(chosen)
    tokens, vectors, texts = both.tokens(indices), both.vectors(indices), both.texts(indices)
    assert tokens.shape[1] == both.lengths[indices].max()
    for place, index in enumerate(chosen):
        split, row = (two, index) if index < len(two) else (one, index - len(two))
        length = int(split.lengths[row])
        assert tokens[place].tolist() == split.tokens([row])[0].tolist() + [-1] * (tokens.shape[1] - length)
        assert vectors[place].tolist() == split.vectors([row])[0].tolist()
        assert texts[place] == split.texts([row])[0]
