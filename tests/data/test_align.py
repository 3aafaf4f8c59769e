import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import toy
from unembed.data.align import align
from unembed.text import read_back, tokenise

TOKENIZERS = {"wordpiece": toy.wordpiece(), "byte_bpe": toy.byte_bpe(), "metaspace_bpe": toy.metaspace_bpe()}
ALL = [text for texts in toy.LANGUAGES.values() for text in texts]

any_tokenizer = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS.keys())


def check(tokenizer: Tokenizer, texts: list[str], seq_len: int) -> int:
    """The two equations that the format promises, for every sample that is marked stable."""
    samples = align(tokenizer, texts, seq_len=seq_len)
    assert len(samples) == len(texts)
    stable = [sample for sample in samples if sample.stable]
    assert tokenise(tokenizer, [sample.text for sample in stable]) == [sample.ids for sample in stable]
    assert read_back(tokenizer, [sample.ids for sample in stable]) == [sample.text for sample in stable]
    assert all(len(sample.ids) <= seq_len for sample in samples)
    assert all("\ufffd" not in sample.text[-1:] for sample in samples)
    return len(stable)


@any_tokenizer
@settings(max_examples=60)
@given(texts=st.lists(st.text(max_size=40), max_size=5), seq_len=st.integers(min_value=1, max_value=12))
def test_tokens_and_text_agree_for_anything(tokenizer: Tokenizer, texts: list[str], seq_len: int) -> None:
    check(tokenizer, texts, seq_len)


@any_tokenizer
@pytest.mark.parametrize("seq_len", [1, 2, 3, 5, 8, 13, 64])
def test_tokens_and_text_agree_in_ten_languages(tokenizer: Tokenizer, seq_len: int) -> None:
    assert check(tokenizer, ALL, seq_len) >= 0.8 * len(ALL)


def test_an_unknown_character_leaves_both_sides() -> None:
    [sample] = align(TOKENIZERS["wordpiece"], ["The cat \U0001f984 sat."], seq_len=32)
    assert sample.stable
    assert sample.realigned
    assert sample.text == "the cat sat."


def test_a_special_token_in_a_text_is_not_a_target() -> None:
    [sample] = align(TOKENIZERS["wordpiece"], ["The [MASK] cat sat.[SEP]"], seq_len=32)
    assert sample.stable
    assert sample.text == "the cat sat."


def test_a_character_that_is_cut_in_half_is_left_out() -> None:
    tokenizer = TOKENIZERS["byte_bpe"]
    text = "ab\U0001f984"
    whole = tokenise(tokenizer, [text])[0]
    [sample] = align(tokenizer, [text], seq_len=len(whole) - 1)
    assert sample.stable
    assert sample.text == "ab"
    assert sample.full_length == len(whole)


def test_nothing_in_nothing_out() -> None:
    assert align(TOKENIZERS["wordpiece"], [], seq_len=4) == []
    [sample] = align(TOKENIZERS["wordpiece"], [""], seq_len=4)
    assert sample.ids == []
