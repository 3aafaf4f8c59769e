"""The texts that come with the package."""

from __future__ import annotations

from statistics import mean

from tokenizers import Tokenizer

from unembed.adaptation.default_texts import TEXTS, default_texts
from unembed.adaptation.fit_adapter import estimate
from unembed.data.normalise import normalise, text_keys
from unembed.data.split import SPLITS, split_labels
from unembed.model.bundled import BUNDLED


def test_each_is_one_line_of_its_own_and_none_is_held_out():
    texts = default_texts(10**6, lambda some: [True] * len(some))
    assert 19_000 < len(texts) <= 20_000
    assert len({normalise(text) for text in texts}) == len(texts)
    labels = split_labels(text_keys(texts), validation_share=0.05, test_share=0.05)
    assert set(labels) == {SPLITS.index("train")}
    assert TEXTS.stat().st_size < 700_000


def test_the_first_are_a_sample_of_all():
    tokenizer = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    texts = default_texts(10**6, lambda some: [True] * len(some))
    lengths = [len(one.ids) for one in tokenizer.encode_batch(texts, add_special_tokens=False)]
    assert abs(mean(lengths[:1000]) - mean(lengths)) < 0.1 * mean(lengths)
    assert min(lengths) >= 4
    assert max(lengths) <= 32
    used = {token for one in tokenizer.encode_batch(texts[:5000]) for token in one.ids}
    assert len(used) > 9_000


def test_those_that_do_not_fit_are_passed_over_in_order():
    every = default_texts(50, lambda some: [True] * len(some))
    short = default_texts(10, lambda some: [len(text) < 40 for text in some])
    assert short == [text for text in every if len(text) < 40][:10]


def test_they_stand_in_for_texts():
    found = estimate(None, 200)
    assert found["texts"] == 200
    assert found["tokens"] > 200 * 4
