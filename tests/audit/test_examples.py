"""Examples show how much came back, and no word that says what."""

from __future__ import annotations

from audit_cases import MakeCase, row

from unembed.audit.examples import choose_examples, pieces
from unembed.audit.findings import find

ORIGINAL = "Please call Anna Berg at 555-0143."
RECOVERED = "please call anna at 555 0148"


def test_only_common_words_are_shown() -> None:
    shown = pieces(ORIGINAL, RECOVERED, show=False)
    visible = "".join(one.text if one.text is not None else "█" * one.width for one in shown)
    assert visible == "Please ████ ████ ████ at ███-████."
    same = [one.same for one in shown if one.same is not None]
    assert same == [True, True, True, False, True, True, False]


def test_texts_are_shown_where_asked_for() -> None:
    assert "".join(one.text or "" for one in pieces(ORIGINAL, RECOVERED, show=True)) == ORIGINAL


def test_a_word_that_came_once_counts_once() -> None:
    shown = [one.same for one in pieces("the cat the cat", "the dog", show=True) if one.same is not None]
    assert shown == [True, False, False, False]


def test_examples_are_spread_from_best_to_worst(make_case_of: MakeCase) -> None:
    texts = [
        f"the cat sees the {word}" for word in ("ship", "lamp", "book", "door", "road", "hill", "star")
    ] * 2
    case = make_case_of(texts)
    rows = [row(number, text if number < 7 else "a dog") for number, text in enumerate(texts)]
    chosen = choose_examples(case, rows, find(case, rows, None).statistics)
    assert len(chosen) == 6
    values = [one.f1 for one in chosen]
    assert values == sorted(values, reverse=True)
    assert chosen[0].exact
    assert not chosen[-1].exact
    assert not any(one.row.startswith("row") for one in chosen)  # ids can say who it is
