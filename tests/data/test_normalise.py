import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toy import LANGUAGES
from unembed.data.normalise import normalise, text_key, text_keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hello, world!", "hello,  world"),
        ("“Hello”", "HELLO"),
        ("  (Really?!)  ", "really"),
        ("ＡＢＣ １２３", "abc 123"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("ﾊﾟﾋﾟ", "パピ"),
        ("我希望能见到你。", "我希望能见到你"),
        ("¿Cómo?", "cómo"),
        ("هل تتكلم العربية؟", "هل تتكلم العربية"),
        ("\ufeffzero\u200bwidth", "zerowidth"),
        ("a\u00a0b\tc\nd", "a b c d"),
    ],
)
def test_these_are_the_same_text(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert text_key(one) == text_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like C#", "I like C"),
        ("10%", "10"),
        ("cafe", "café"),
        ("do not", "do n't"),
        ("?", "!"),
        ("a b", "ab"),
        ("가다", "가자"),
    ],
)
def test_these_are_not(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)
    assert text_key(one) != text_key(other)


@given(st.text())
def test_it_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(st.text(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_unicode_forms_are_one(text: str, form: str) -> None:
    assert normalise(unicodedata.normalize(form, text)) == normalise(text)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_the_short_cut_for_ascii_changes_nothing(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text.casefold())
    assert normalise(text) == normalise(folded + "\u200b")


def test_keys_in_bulk_are_the_keys_one_by_one() -> None:
    texts = [text for language in LANGUAGES.values() for text in language]
    assert text_keys(texts).tolist() == [text_key(text) for text in texts]
    assert text_keys([]).shape == (0,)


def test_keys_never_change() -> None:
    """These numbers decide on which side of the split a sentence falls, in data that people have."""
    assert text_key("The cat sat on the mat.") == 17365607712011563693
    assert text_key("我希望能见到你。") == 17769411349652310359
