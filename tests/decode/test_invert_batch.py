"""Ranking: of equal texts the best one counts, where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from unembed.decode.invert_batch import ranked_texts


@dataclass(frozen=True)
class _Scored:
    text: str
    score: float
    best: bool = False


def _rank(*items: _Scored) -> list[_Scored]:
    return ranked_texts(
        items, text=lambda one: one.text, score=lambda one: one.score, best=lambda one: one.best
    )


def test_a_duplicate_that_scores_less_does_not_pull_its_text_down():
    a, b, again = _Scored("a", -1.0), _Scored("b", -2.0), _Scored("a", -3.0)
    assert _rank(again, b, a) == [a, b]


def test_of_equal_scores_the_one_whose_trace_is_known_comes_first():
    plain, traced = _Scored("a", -1.0), _Scored("b", -1.0, best=True)
    assert _rank(plain, traced) == [traced, plain]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-9, 0)), min_size=1, max_size=12))
def test_every_text_comes_once_with_its_best_score_in_falling_order(pairs):
    ranked = _rank(*(_Scored(text, float(score)) for text, score in pairs))
    assert sorted(one.text for one in ranked) == sorted({text for text, _ in pairs})
    for one in ranked:
        assert one.score == max(score for text, score in pairs if text == one.text)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
