"""How words are written: what counting finds, and what a file keeps of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.errors import DataError
from unembed.model.truecasing import UNIT, Casing, fold, is_sentence

TEXTS = [
    "Yesterday Tom met Mary at the BBC.",
    "The café of Tom may open in May.",
    "They may go with Tom, said Mr. Brown.",
    "Nobody saw the café, etc. and so on.",
    "She asked Tom etc. but not me.",
]


def starts(text: str, casing: Casing) -> list[str]:
    units = UNIT.findall(text)
    return [unit for unit, begins in zip(units, casing.starts(units), strict=True) if begins]


def test_words_within_a_sentence_are_counted_as_they_are_written() -> None:
    casing = Casing.count(TEXTS * 3, min_count=3)
    assert casing.usual("tom") == "Tom"
    assert casing.usual("bbc") == "BBC"
    assert casing.usual("cafe") == "café"
    assert casing.usual("the") == "the"
    assert dict(casing.forms("may")) == pytest.approx({"may": 2 / 3, "May": 1 / 3})
    assert "yesterday" not in casing.words  # it only begins a sentence


def test_rare_words_are_not_kept() -> None:
    assert "bbc" not in Casing.count(TEXTS, min_count=2).words
    assert Casing.count(TEXTS, min_count=2).usual("tom") == "Tom"


def test_titles_shouting_and_chat_are_not_counted() -> None:
    assert not is_sentence(["The", "Old", "Man", "And", "The", "Sea"])
    assert not is_sentence(["STOP", "DOING", "THAT"])
    assert not is_sentence(["i", "saw", "tom", "there"])
    assert is_sentence(["I", "saw", "Tom", "there"])
    assert Casing.count(["what does tom want here", "Stop Tom Now Or Never"] * 9).words == {}


def test_a_full_stop_behind_an_abbreviation_ends_no_sentence() -> None:
    casing = Casing.count(TEXTS * 3, min_count=3)
    assert "etc" in casing.abbreviations
    assert starts("we ate, drank etc. and left. it rained! why? 5 men", casing) == ["we", "it", "why", "5"]
    assert starts("at 5 p.m. he met j. smith. so did i. he", casing) == ["at", "so", "he"]
    assert starts("i don't. he's tom's. she", casing) == ["i", "he", "she"]
    assert starts("so (he). she... it", casing) == ["so", "she", "it"]
    assert starts('"so what?" she said.', casing) == ["so", "she"]


def test_without_counts_only_i_is_known() -> None:
    assert Casing().usual("i") == "I"
    assert Casing().usual("tom") == "tom"


@given(
    st.lists(
        st.lists(st.sampled_from(["Tom", "tom", "TOM", "May", "may", "élan", "Élan", "the"]), min_size=3),
        max_size=20,
    )
)
def test_shares_are_shares_and_a_file_keeps_them(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]]
) -> None:
    casing = Casing.count((f"So {' '.join(words)}." for words in texts), min_count=1)
    for word, forms in casing.words.items():
        assert all(fold(form) == word != form for form, _ in forms)
        assert sum(share for _, share in casing.forms(word)) == pytest.approx(1.0)
    file = tmp_path_factory.mktemp("casing") / "casing.npz"
    casing.save(file)
    back = Casing.load(file)
    assert back.abbreviations == casing.abbreviations
    assert back.words.keys() == casing.words.keys()
    for word, forms in casing.words.items():
        assert dict(back.words[word]) == pytest.approx(dict(forms), abs=0.006)


@pytest.mark.parametrize("content", [b"", b"damaged", b"PK\x03\x04"])
def test_a_damaged_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "casing.npz").write_bytes(content)
    with pytest.raises(DataError, match="damaged") as told:
        Casing.load(tmp_path / "casing.npz")
    assert "unembed casing" in str(told.value.hint)
