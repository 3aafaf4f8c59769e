"""Written forms: whatever the form, the same tokens; and other ways to write a text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
import toy
from unembed.model.truecasing import Casing
from unembed.search.form_variants import FormVariants
from unembed.search.written_form import Form, Writer
from unembed.text import read_back, tokenise

CASING = Casing(
    {
        "i": (("I", 1.0),),
        "cat": (("Cat", 0.2), ("CAT", 0.05)),
        "film": (("Film", 0.9),),
        "cafe": (("café", 0.9),),
        "uhr": (("UHR", 0.6), ("Uhr", 0.4)),
    }
)
WRITER = Writer(CASING)
TOKENIZER = toy.wordpiece()
WORDS = ["the", "cat", "film", "uhr", "it", "doesn", "t", "c", "10", "cafes", "i", "s", "mat", "matter"]
PIECES = [*WORDS, *"'.,!?-#%«"]
CASES = ("sentence", "words", "lower", "title", "upper")
SPACINGS = ("glued", "left", "right", "apart")
WAYS = {"cat": ["cat", "Cat", "CAT"], "film": ["Film", "film"], "the": ["the", "THE", "The"]}


@st.composite
def forms(draw: Any) -> Form:
    form = Form(draw(st.sampled_from(CASES)))
    for word in draw(st.lists(st.sampled_from(sorted(WAYS)), max_size=3)):
        form = form.with_word(word, draw(st.integers(0, 2)), draw(st.sampled_from(WAYS[word])))
    for mark in draw(st.lists(st.sampled_from(list("'-.,!%")), max_size=3)):
        form = form.with_mark(mark, draw(st.integers(0, 2)), draw(st.sampled_from(SPACINGS)))
    return form


def plain(pieces: list[str]) -> str:
    return read_back(TOKENIZER, tokenise(TOKENIZER, [" ".join(pieces)]))[0]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12), forms())
def test_a_form_changes_no_token(pieces: list[str], form: Form) -> None:
    text = plain(pieces)
    written = WRITER.write(text, form)
    assert tokenise(TOKENIZER, [written]) == tokenise(TOKENIZER, [text])
    assert written.strip() == written
    assert WRITER.write(text, form) == written


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
def test_lower_case_is_the_models_own_but_for_spaces(pieces: list[str]) -> None:
    text = plain(pieces)
    assert WRITER.write(text, Form("lower")).replace(" ", "") == text.replace(" ", "")
    uncased = Writer(CASING, cased=False)
    assert uncased.write(text, Form("upper")).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "form", "written"),
    [
        ("the film of the cat. i saw it!", Form(), "The Film of the cat. I saw it!"),
        ("the film of the cat", Form("words"), "the Film of the cat"),
        ("the film of the cat", Form("title"), "The Film Of The Cat"),
        ("don't", Form("upper"), "DON'T"),
        ("straße", Form("upper"), "straße"),  # its capitals are other letters
        ("cat and cat", Form().with_word("cat", 1, "Cat"), "Cat and Cat"),
        ("cat and cat", Form().with_word("cat", 0, "cat"), "cat and cat"),
        ("at 5 p. m. in the u. s. cafe", Form(), "At 5 p.m. in the u.s. café"),
        ("she said “ yes. ” the birds ' nests", Form(), "She said “yes.” The birds' nests"),
        ("he called it ' a cat. '", Form(), "He called it 'a cat.'"),
        ("no. 5", Form().with_mark(".", 0, "glued"), "No.5"),
        ("well-known - so", Form().with_mark("-", 1, "left"), "Well-known- so"),
        ("well-known", Form().with_mark("-", 0, "apart"), "Well - known"),
        ("so!", Form().with_mark("!", 0, "apart"), "So !"),
        ("", Form(), ""),
    ],
)
def test_what_is_written(text: str, form: Form, written: str) -> None:
    assert WRITER.write(text, form) == written


def test_a_form_fits_the_text_after_an_edit() -> None:
    form = Form().with_word("cat", 0, "CAT").with_mark("-", 0, "apart")
    assert WRITER.write("a cat is well-known", form) == "A CAT is well - known"
    assert WRITER.write("it is the well-known white cat", form) == "It is the well - known white CAT"
    assert WRITER.write("a dog", form) == "A dog"


def test_an_exception_replaces_the_one_before() -> None:
    form = Form().with_word("cat", 0, "CAT").with_word("cat", 0, "Cat").with_mark("-", 0, "left")
    assert form.words == (("cat", 0, "Cat"),)
    assert form.with_mark("-", 0, "right").marks == (("-", 0, "right"),)
    assert form.with_case("lower").words == ()


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), forms())
def test_variants_are_other_texts_likeliest_first(pieces: list[str], form: Form) -> None:
    checkpoint = CHECKPOINT
    text = plain(pieces)
    [ids] = tokenise(TOKENIZER, [text])
    entries = tuple(checkpoint.vocabulary.token_ids.tolist().index(one) for one in ids)
    found = FormVariants(checkpoint, WRITER).of(entries, form)
    texts = [one.text for one in found]
    assert WRITER.write(text, form) not in texts
    assert len(set(texts)) == len(texts)
    assert [one.likelihood for one in found] == sorted((one.likelihood for one in found), reverse=True)
    for one in found:
        assert one.text == WRITER.write(checkpoint.texts([one.entries])[0], one.form)
        assert one.entries == entries or one.form == form  # one change, not two


CHECKPOINT = tiny.checkpoint(TOKENIZER, toy.ToyEncoder().info)


def test_the_variants_of_a_text() -> None:
    [ids] = tokenise(TOKENIZER, ["the cat sat."])
    entries = tuple(CHECKPOINT.vocabulary.token_ids.tolist().index(one) for one in ids)
    found = [one.text for one in FormVariants(CHECKPOINT, WRITER).of(entries, None)]
    assert found[0] == "The Cat sat."  # one time in five, by the counts
    wanted = {"The cat sat", "The cat sat!", "The cat sat?", "the cat sat.", "THE CAT SAT.", "The Cat Sat."}
    assert wanted <= set(found)
    spaces = [one.text for one in FormVariants(CHECKPOINT, Writer(CASING, cased=False)).of(entries, None)]
    assert set(spaces) == {"the cat sat", "the cat sat!", "the cat sat?", "the cat sat ."}
