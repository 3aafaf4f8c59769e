"""A search state keeps what is near and likely, and has the denoiser asked only where it can matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unembed.search.candidate_pool import CandidatePool
from unembed.search.error_model import GPErrorModel, unit
from unembed.search.neighbour_pools import DEEPEN
from unembed.search.objective import Objective
from unembed.search.search_state import HOPE, MAX_SIMILARITY, Hypothesis, SearchState, similarity
from unembed.search.settings import GuidedSettings

WEIGHT = 0.01  # of the denoiser's score


def hypothesis(text: str, cosine: float, parent: str | None = None, call: int = 1) -> Hypothesis:
    return Hypothesis((1,), text, np.ones(1, np.float32), cosine, "test", parent, call)


def empty(width: int, *, denoiser_weight: float = 0.0, diversify_after: int = 1_000_000) -> SearchState:
    settings = GuidedSettings(
        max_encoder_calls=100, beam_width=width, target_cosine=2.0, diversify_after=diversify_after
    )
    objective = Objective(denoiser_weight=denoiser_weight)
    return SearchState(np.ones(1, np.float32), np.random.default_rng(0), settings, objective)


def begun(*cosines: float, width: int = 2) -> SearchState:
    """A state with these in its beam, all equally likely."""
    state = empty(width, denoiser_weight=WEIGHT)
    first = [hypothesis(f"start {row}", cosine, call=row + 1) for row, cosine in enumerate(cosines)]
    few = state.add(first)
    state.denoiser_scores.update((one.text, -10.0) for one in few)
    state.choose_beam(few)
    return state


def test_what_cannot_enter_the_beam_is_not_scored() -> None:
    state = begun(0.9, 0.8)
    hopeless = hypothesis("a", 0.8 - 1.1 * WEIGHT * HOPE, "start 1")
    hopeful = hypothesis("b", 0.8 - 0.9 * WEIGHT * HOPE, "start 1")
    assert state.add([hopeless, hopeful]) == [hopeful]
    assert {"a", "b"} <= set(state.tried)
    assert state.calls == 4


def test_everything_is_scored_while_the_beam_has_room() -> None:
    state = begun(0.9, width=3)
    far = hypothesis("a", -0.5, "start 0")
    assert state.add([far]) == [far]


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6),
    st.lists(st.tuples(st.floats(-1, 1, width=32), st.floats(-30, -10)), max_size=8),
)
def test_the_beam_is_never_worse_than_before(cosines: list[float], new: list[tuple[float, float]]) -> None:
    state = begun(*cosines)
    before = [state.value(one) for one in state.beam]
    few = state.add([hypothesis(str(n), cosine, "start 0", 10 + n) for n, (cosine, _) in enumerate(new)])
    state.denoiser_scores.update((one.text, new[int(one.text)][1]) for one in few)
    state.choose_beam(few)
    after = [state.value(one) for one in state.beam]
    assert after == sorted(after, reverse=True)
    assert all(now >= then for now, then in zip(after, before, strict=False))
    assert state.best is not None
    assert state.best.cosine == max([*cosines, *(cosine for cosine, _ in new)])


WORDS = st.lists(st.integers(0, 5), min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_similarity(one: list[int], other: list[int]) -> None:
    assert similarity(one, one) == 1
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= 1
    if not set(one) & set(other):
        assert similarity(one, other) == 0


def test_what_came_nearer_is_remembered_for_the_gains_to_come() -> None:
    """A text's gain of one round is merged with those of earlier rounds, of that text alone."""
    state = begun(0.5, 0.4)
    first, better, other = (hypothesis(*given) for given in [
        ("a", 0.6, "start 0", 3), ("b", 0.7, "start 0", 4), ("c", 0.45, "start 1", 5)
    ])  # fmt: skip
    state.add([first, hypothesis("farther", 0.3, "start 0", 6)])
    assert state.new_gains == {"start 0": [first]}
    state.add([other])
    assert state.new_gains == {"start 1": [other]}
    state.add([better])
    assert state.new_gains == {"start 0": [better, first]}
    state.add([])
    assert state.new_gains == {}


def test_similarity_counts_word_pairs() -> None:
    assert (
        similarity([1, 2, 3], [1, 2, 3, 4]) == 3 / 5
    )  # begin-1, 1-2 and 2-3 of begin-1, 1-2, 2-3, 3-4, 4-end
    assert similarity([1, 1, 1], [1, 1]) == 3 / 4  # a pair that stands twice in one text only counts once


def told(text: str, entries: tuple[int, ...], cosine: float, call: int) -> Hypothesis:
    return replace(hypothesis(text, cosine, call=call), entries=entries)


def test_a_beam_diversifies_when_nothing_comes_nearer() -> None:
    """The best text's neighbours fill the beam; once that leads nowhere, unlike texts get a chance again."""
    state = empty(2, diversify_after=2)
    best, twin = told("best", (1, 2, 3, 4), 0.9, 1), told("twin", (1, 2, 3, 4, 5), 0.8, 2)
    other, third = told("other", (6, 7, 8), 0.5, 3), told("third", (6, 7, 8, 9), 0.4, 4)
    assert similarity(best.entries, twin.entries) > MAX_SIMILARITY > similarity(best.entries, other.entries)
    state.choose_beam(state.add([best, twin, other, third]))
    assert state.beam == [best, twin]
    state.choose_beam(state.add([]))
    assert state.beam == [best, twin]
    state.choose_beam(state.add([]))
    assert state.beam == [best, other]
    better = told("better", (6, 7, 8, 1), 0.7, 5)  # of the other's kind, and still farther than the best
    state.choose_beam(state.add([better]))
    assert state.beam == [best, better]
    found = told("found", (1, 2, 3), 0.95, 6)  # nearer than all: the beam may narrow again
    state.choose_beam(state.add([found]))
    assert state.beam == [found, best]


def test_nothing_tried_is_lost_where_a_beam_diversifies_at_once() -> None:
    state = empty(3, diversify_after=0)
    texts = [told(str(n), (n, n + 1), 0.9 - n / 10, n + 1) for n in range(5)]
    state.choose_beam(state.add(texts))
    assert state.beam == texts[:3]


def neighbours_of(one: Hypothesis, count: int) -> CandidatePool:
    return CandidatePool([f"{one.text}, {n}" for n in range(count)], [(n,) for n in range(count)])


def test_a_turn_goes_on_where_the_last_one_ended() -> None:
    """The best text has two turns before the next one has its first; what was tried meanwhile is left out."""
    state = begun(0.9, 0.8)
    best, second = state.beam
    state.neighbours.deepen(best.text)  # there is nothing more of it
    turns = []
    for _ in range(4):
        one = state.next_parent()
        assert one is not None
        state.neighbours.pools.setdefault(one.text, neighbours_of(one, 5))
        turns.append((one.text, state.take_neighbours(one, 2)))
        state.tried[f"{best.text}, 2"] = hypothesis("tried", 0.1)
    assert turns == [
        (best.text, [(0,), (1,)]),
        (best.text, [(3,), (4,)]),
        (second.text, [(0,), (1,)]),  # nothing is left of the first
        (second.text, [(2,), (3,)]),
    ]


def test_no_neighbours_are_left_when_all_were_tried() -> None:
    state = begun(0.9, 0.8)
    state.neighbours.pools.update((one.text, neighbours_of(one, 0)) for one in state.beam)
    state.neighbours.deepen(state.beam[0].text)
    assert state.next_parent() is None


def test_the_more_turns_a_text_had_the_later_its_next() -> None:
    state = begun(0.9, 0.8)
    state.neighbours.pools.update((one.text, neighbours_of(one, 20)) for one in state.beam)
    turns = []
    for _ in range(5):
        one = state.next_parent()
        assert one is not None
        turns.append(state.beam.index(one))
        state.take_neighbours(one, 1)
    assert turns == [0, 0, 1, 0, 1]


def test_less_likely_neighbours_are_wanted_of_the_best_text_and_once() -> None:
    state = begun(0.9, 0.8)
    best, second = state.beam
    state.neighbours.pools.update((one.text, neighbours_of(one, 20)) for one in state.beam)
    for _ in range(DEEPEN):
        assert not state.wants_deeper(best)
        state.take_neighbours(best, 1)
        state.take_neighbours(second, 1)
    assert not state.wants_deeper(second)
    assert state.wants_deeper(best)
    state.neighbours.deepen(best.text)
    assert state.neighbours.turns[best.text] == 0  # its turns are counted from zero again
    for _ in range(DEEPEN):
        state.take_neighbours(best, 1)
    assert not state.wants_deeper(best)


def test_a_best_text_whose_neighbours_run_out_early_gets_its_less_likely_ones() -> None:
    """It has no third turn with an empty pool; the others of the beam wait for theirs as before."""
    state = begun(0.9, 0.8)
    best, second = state.beam
    state.neighbours.pools.update((one.text, neighbours_of(one, 1)) for one in state.beam)
    state.take_neighbours(best, 2)
    state.take_neighbours(second, 2)
    assert state.next_parent() is best
    assert state.wants_deeper(best)
    assert not state.wants_deeper(second)
    state.neighbours.deepen(best.text)
    assert state.next_parent() is None  # until the less likely ones are added
    assert not state.wants_deeper(best)
    state.neighbours.add(best.text, CandidatePool(["less likely"], [(9,)]))
    assert state.next_parent() is best


def test_a_text_that_becomes_the_best_late_gets_its_less_likely_neighbours() -> None:
    state = begun(0.9, 0.8)
    state.neighbours.pools.update((one.text, neighbours_of(one, 20)) for one in state.beam)
    best, second = state.beam
    for _ in range(DEEPEN + 1):
        state.take_neighbours(second, 1)
    state.beam = [second, best]
    assert state.wants_deeper(second)


def test_a_pool_is_ranked_again_when_more_is_known() -> None:
    """Two neighbours look alike to the surrogate until a text beside one of them turns out to be far away."""
    target = np.array([1.0, 0.0, 0.0], np.float32)
    state = begun(0.9)
    state.error_model = GPErrorModel(target)
    [best] = state.beam
    by_surrogate = unit(np.array([[0.8, 0.6, 0.0], [0.8, -0.5, 0.0], [0.8, 0.55, 0.0]]))
    state.neighbours.pools[best.text] = replace(neighbours_of(best, 3), by_surrogate=by_surrogate)
    assert state.take_neighbours(best, 1) == [(1,)]
    far = np.array([[-1.0, 0.0, 0.0]], np.float32)
    state.error_model.learn(
        np.concatenate([by_surrogate[1:2], by_surrogate[2:]]), np.concatenate([target[None], far])
    )
    state.neighbours.pools[best.text] = replace(neighbours_of(best, 2), by_surrogate=by_surrogate[[2, 1]])
    assert state.take_neighbours(best, 2) == [(1,), (0,)]


def test_what_is_unknown_comes_before_what_is_known_to_be_a_little_nearer() -> None:
    target = np.eye(4, dtype=np.float32)[0]
    state = begun(0.9)
    state.error_model = GPErrorModel(target)
    known, _ = by_surrogate = unit(np.array([[1.0, 1.0, 0.0, 0.0], [0.99, 0.0, 1.0, 0.0]]))
    error = 0.2 * unit(np.random.default_rng(0).standard_normal((20, 4)))
    seen = np.repeat(known[None], 20, axis=0)
    for sign in (1, -1):  # it is known to err as often one way as the other
        state.error_model.learn(seen, seen + sign * error)
    near, far = state.error_model.predict(by_surrogate)
    assert near > far
    [best] = state.beam
    state.neighbours.pools[best.text] = replace(neighbours_of(best, 2), by_surrogate=by_surrogate)
    assert state.take_neighbours(best, 2) == [(1,), (0,)]


def test_neighbours_of_texts_that_left_the_beam_are_forgotten() -> None:
    state = begun(0.9, 0.8)
    state.neighbours.pools.update((one.text, neighbours_of(one, 3)) for one in state.beam)
    better = hypothesis("better", 0.95, "start 0")
    state.add([better])
    state.denoiser_scores["better"] = -10.0
    state.choose_beam([better])
    assert set(state.neighbours.pools) == {"start 0"}


def test_pools_are_joined_without_repeating_any() -> None:
    one = CandidatePool(["a", "b"], [(1,), (2,)], np.eye(2, dtype=np.float32))
    other = CandidatePool(["b", "c"], [(2,), (3,)], np.ones((2, 2), np.float32))
    both = one.joined(other)
    assert both.texts == ["a", "b", "c"]
    assert both.entries == [(1,), (2,), (3,)]
    assert both.by_surrogate is not None
    np.testing.assert_array_equal(both.by_surrogate, [[1, 0], [0, 1], [1, 1]])
