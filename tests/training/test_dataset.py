"""Prepared folders as one dataset: filtered, limited, read by index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
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


def test_sources_count_by_their_size_to_a_power(tmp_path):
    sentences = toy.sentences(60)
    sources = []
    for label, some in (("en-mail", sentences[:48]), ("en-chat", sentences[48:])):
        (tmp_path / label).write_text("\n".join(some) + "\n", encoding="utf-8")
        sources.append(f"{label}={tmp_path / label}")
    collect(CollectConfig(source=tuple(sources)), tmp_path / "texts")
    settings = EncodeConfig(seq_len=16, validation_share=0, test_share=0)
    encoder = toy.ToyEncoder(dimension=8, tokenizer=toy.wordpiece())
    encode(settings, tmp_path / "texts", tmp_path / "prepared", encoder=encoder)
    split = PreparedData.open(tmp_path / "prepared").split("train")
    texts = TrainingTexts([split], min_tokens=1, max_tokens=16)

    assert texts.repeats(1.0) is None
    mail, chat = (np.array(texts.labels()) == label for label in ("en-mail", "en-chat"))
    alike = texts.repeats(0.0)
    assert alike[mail].sum() == pytest.approx(alike[chat].sum())
    between = texts.repeats(0.5)
    assert between[mail].sum() / between[chat].sum() == pytest.approx(np.sqrt(mail.sum() / chat.sum()))
    assert alike.sum() == pytest.approx(len(texts)) == pytest.approx(between.sum())
    # The same label in another folder is another source.
    twice = TrainingTexts([split, split], min_tokens=1, max_tokens=16)
    assert twice.repeats(0.0).reshape(2, -1).sum(axis=1) == pytest.approx([len(texts), len(texts)])
