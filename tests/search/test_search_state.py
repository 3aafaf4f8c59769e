"""A hunt keeps what is near and likely, and asks the model only where its answer can matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unembed.search.error_model import Beliefs, unit
from unembed.search.search_state import ALIKE, DEEPEN, HOPE, Hunt, Hypothesis, Leftovers, likeness

FLUENCY = 0.01


def hypothesis(text: str, cosine: float, parent: str | None = None, call: int = 1) -> Hypothesis:
    return Hypothesis((1,), text, np.ones(1, np.float32), cosine, "test", parent, call)


def begun(*cosines: float, width: int = 2) -> Hunt:
    """A hunt with these in its beam, all equally likely."""
    hunt = Hunt(
        np.ones(1, np.float32), np.random.default_rng(0), 100, width, near_enough=2.0, fluency=FLUENCY
    )
    first = [hypothesis(f"start {place}", cosine, call=place + 1) for place, cosine in enumerate(cosines)]
    few = hunt.add(first)
    hunt.scores.update((one.text, -10.0) for one in few)
    hunt.settle(few)
    return hunt


def test_what_cannot_enter_the_beam_is_not_scored() -> None:
    hunt = begun(0.9, 0.8)
    hopeless = hypothesis("a", 0.8 - 1.1 * FLUENCY * HOPE, "start 1")
    hopeful = hypothesis("b", 0.8 - 0.9 * FLUENCY * HOPE, "start 1")
    assert hunt.add([hopeless, hopeful]) == [hopeful]
    assert {"a", "b"} <= set(hunt.tried)
    assert hunt.calls == 4


def test_everything_is_scored_while_the_beam_has_room() -> None:
    hunt = begun(0.9, width=3)
    far = hypothesis("a", -0.5, "start 0")
    assert hunt.add([far]) == [far]


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6),
    st.lists(st.tuples(st.floats(-1, 1, width=32), st.floats(-30, -10)), max_size=8),
)
def test_the_beam_is_never_worse_than_before(cosines: list[float], new: list[tuple[float, float]]) -> None:
    hunt = begun(*cosines)
    before = [hunt.value(one) for one in hunt.beam]
    few = hunt.add([hypothesis(str(n), cosine, "start 0", 10 + n) for n, (cosine, _) in enumerate(new)])
    hunt.scores.update((one.text, new[int(one.text)][1]) for one in few)
    hunt.settle(few)
    after = [hunt.value(one) for one in hunt.beam]
    assert after == sorted(after, reverse=True)
    assert all(now >= then for now, then in zip(after, before, strict=False))
    assert hunt.best is not None
    assert hunt.best.cosine == max([*cosines, *(cosine for cosine, _ in new)])


WORDS = st.lists(st.integers(0, 5), min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_likeness(one: list[int], other: list[int]) -> None:
    assert likeness(one, one) == 1
    assert likeness(one, other) == likeness(other, one)
    assert 0 <= likeness(one, other) <= 1
    if not set(one) & set(other):
        assert likeness(one, other) == 0


def test_what_came_nearer_is_remembered_for_the_gains_to_come() -> None:
    """A text's gain of one round is merged with those of earlier rounds, of that text alone."""
    hunt = begun(0.5, 0.4)
    first, better, other = (hypothesis(*given) for given in [
        ("a", 0.6, "start 0", 3), ("b", 0.7, "start 0", 4), ("c", 0.45, "start 1", 5)
    ])  # fmt: skip
    hunt.add([first, hypothesis("farther", 0.3, "start 0", 6)])
    assert hunt.nearer == {"start 0": [first]}
    hunt.add([other])
    assert hunt.nearer == {"start 1": [other]}
    hunt.add([better])
    assert hunt.nearer == {"start 0": [better, first]}
    hunt.add([])
    assert hunt.nearer == {}


def test_likeness_counts_word_pairs() -> None:
    assert likeness([1, 2, 3], [1, 2, 3, 4]) == 3 / 5  # begin-1, 1-2 and 2-3 of begin-1, 1-2, 2-3, 3-4, 4-end
    assert likeness([1, 1, 1], [1, 1]) == 3 / 4  # a pair that stands twice in one text only counts once


def told(text: str, entries: tuple[int, ...], cosine: float, call: int) -> Hypothesis:
    return replace(hypothesis(text, cosine, call=call), entries=entries)


def test_a_beam_spreads_out_when_nothing_comes_nearer() -> None:
    """The best text's neighbours fill the beam; once that leads nowhere, unlike texts get a chance again."""
    hunt = Hunt(np.ones(1, np.float32), np.random.default_rng(0), 100, 2, near_enough=2.0, spread=2)
    best, twin = told("best", (1, 2, 3, 4), 0.9, 1), told("twin", (1, 2, 3, 4, 5), 0.8, 2)
    other, third = told("other", (6, 7, 8), 0.5, 3), told("third", (6, 7, 8, 9), 0.4, 4)
    assert likeness(best.entries, twin.entries) > ALIKE > likeness(best.entries, other.entries)
    hunt.settle(hunt.add([best, twin, other, third]))
    assert hunt.beam == [best, twin]
    hunt.settle(hunt.add([]))
    assert hunt.beam == [best, twin]
    hunt.settle(hunt.add([]))
    assert hunt.beam == [best, other]
    better = told("better", (6, 7, 8, 1), 0.7, 5)  # of the other's kind, and still farther than the best
    hunt.settle(hunt.add([better]))
    assert hunt.beam == [best, better]
    found = told("found", (1, 2, 3), 0.95, 6)  # nearer than all: the beam may narrow again
    hunt.settle(hunt.add([found]))
    assert hunt.beam == [found, best]


def test_nothing_tried_is_lost_where_a_beam_spreads_out_at_once() -> None:
    hunt = Hunt(np.ones(1, np.float32), np.random.default_rng(0), 100, 3, near_enough=2.0, spread=0)
    texts = [told(str(n), (n, n + 1), 0.9 - n / 10, n + 1) for n in range(5)]
    hunt.settle(hunt.add(texts))
    assert hunt.beam == texts[:3]


def leftovers(one: Hypothesis, count: int) -> Leftovers:
    return Leftovers([f"{one.text}, {n}" for n in range(count)], [(n,) for n in range(count)])


def test_a_sweep_goes_on_where_the_last_one_ended() -> None:
    """The best text has two turns before the next one has its first; what was tried meanwhile is left out."""
    hunt = begun(0.9, 0.8)
    best, second = hunt.beam
    turns = []
    for _ in range(4):
        one = hunt.next_to_sweep()
        assert one is not None
        hunt.neighbours.setdefault(one.text, leftovers(one, 5))
        turns.append((one.text, hunt.sweep(one, 2)))
        hunt.tried[f"{best.text}, 2"] = hypothesis("tried", 0.1)
    assert turns == [
        (best.text, [(0,), (1,)]),
        (best.text, [(3,), (4,)]),
        (second.text, [(0,), (1,)]),  # nothing is left of the first
        (second.text, [(2,), (3,)]),
    ]


def test_there_is_nothing_to_sweep_when_all_was_tried() -> None:
    hunt = begun(0.9, 0.8)
    hunt.neighbours.update((one.text, leftovers(one, 0)) for one in hunt.beam)
    assert hunt.next_to_sweep() is None


def test_the_longer_a_text_was_swept_the_later_its_turn() -> None:
    hunt = begun(0.9, 0.8)
    hunt.neighbours.update((one.text, leftovers(one, 20)) for one in hunt.beam)
    turns = []
    for _ in range(5):
        one = hunt.next_to_sweep()
        assert one is not None
        turns.append(hunt.beam.index(one))
        hunt.sweep(one, 1)
    assert turns == [0, 0, 1, 0, 1]


def test_less_likely_neighbours_are_wanted_of_the_best_text_and_once() -> None:
    hunt = begun(0.9, 0.8)
    best, second = hunt.beam
    hunt.neighbours.update((one.text, leftovers(one, 20)) for one in hunt.beam)
    for _ in range(DEEPEN):
        assert not hunt.wants_deeper(best)
        hunt.sweep(best, 1)
        hunt.sweep(second, 1)
    assert not hunt.wants_deeper(second)
    assert hunt.wants_deeper(best)
    hunt.deepen(best)
    assert hunt.swept[best.text] == 0  # its turns begin anew
    for _ in range(DEEPEN):
        hunt.sweep(best, 1)
    assert not hunt.wants_deeper(best)


def test_what_is_left_over_is_ranked_anew_when_more_is_known() -> None:
    """Two neighbours look alike to the scout until the text beside one of them turns out to be far away."""
    target = np.array([1.0, 0.0, 0.0], np.float32)
    hunt = begun(0.9)
    hunt.beliefs = Beliefs(target)
    [best] = hunt.beam
    scouted = unit(np.array([[0.8, 0.6, 0.0], [0.8, -0.5, 0.0], [0.8, 0.55, 0.0]]))
    hunt.neighbours[best.text] = replace(leftovers(best, 3), scouted=scouted)
    assert hunt.sweep(best, 1) == [(1,)]
    far = np.array([[-1.0, 0.0, 0.0]], np.float32)
    hunt.beliefs.learn(np.concatenate([scouted[1:2], scouted[2:]]), np.concatenate([target[None], far]))
    hunt.neighbours[best.text] = replace(leftovers(best, 2), scouted=scouted[[2, 1]])
    assert hunt.sweep(best, 2) == [(1,), (0,)]


def test_what_is_unknown_comes_before_what_is_known_to_be_a_little_nearer() -> None:
    target = np.eye(4, dtype=np.float32)[0]
    hunt = begun(0.9)
    hunt.beliefs = Beliefs(target)
    known, _ = scouted = unit(np.array([[1.0, 1.0, 0.0, 0.0], [0.99, 0.0, 1.0, 0.0]]))
    error = 0.2 * unit(np.random.default_rng(0).standard_normal((20, 4)))
    seen = np.repeat(known[None], 20, axis=0)
    for sign in (1, -1):  # it is known to err as often one way as the other
        hunt.beliefs.learn(seen, seen + sign * error)
    near, far = hunt.beliefs.foretold(scouted)
    assert near > far
    [best] = hunt.beam
    hunt.neighbours[best.text] = replace(leftovers(best, 2), scouted=scouted)
    assert hunt.sweep(best, 2) == [(1,), (0,)]


def test_neighbours_of_texts_that_left_the_beam_are_forgotten() -> None:
    hunt = begun(0.9, 0.8)
    hunt.neighbours.update((one.text, leftovers(one, 3)) for one in hunt.beam)
    better = hypothesis("better", 0.95, "start 0")
    hunt.add([better])
    hunt.scores["better"] = -10.0
    hunt.settle([better])
    assert set(hunt.neighbours) == {"start 0"}


def test_leftovers_are_joined_without_repeating_any() -> None:
    one = Leftovers(["a", "b"], [(1,), (2,)], np.eye(2, dtype=np.float32))
    other = Leftovers(["b", "c"], [(2,), (3,)], np.ones((2, 2), np.float32))
    both = one.joined(other)
    assert both.texts == ["a", "b", "c"]
    assert both.entries == [(1,), (2,), (3,)]
    assert both.scouted is not None
    np.testing.assert_array_equal(both.scouted, [[1, 0], [0, 1], [1, 1]])
