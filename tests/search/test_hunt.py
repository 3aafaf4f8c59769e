"""A hunt keeps what is near and likely, and asks the model only where its answer can matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unembed.search.hunt import HOPE, Hunt, Hypothesis

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


def test_a_sweep_goes_on_where_the_last_one_ended() -> None:
    """The best text has two turns before the next one has its first; what was tried meanwhile is left out."""
    hunt = begun(0.9, 0.8)
    best, second = hunt.beam
    turns = []
    for _ in range(4):
        one = hunt.next_to_sweep()
        assert one is not None
        hunt.neighbours.setdefault(one.text, [(f"{one.text}, {n}", (n,)) for n in range(5)])
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
    hunt.neighbours.update((one.text, []) for one in hunt.beam)
    assert hunt.next_to_sweep() is None


def test_the_longer_a_text_was_swept_the_later_its_turn() -> None:
    hunt = begun(0.9, 0.8)
    hunt.neighbours.update((one.text, [(f"{one.text}, {n}", (n,)) for n in range(20)]) for one in hunt.beam)
    turns = []
    for _ in range(5):
        one = hunt.next_to_sweep()
        assert one is not None
        turns.append(hunt.beam.index(one))
        hunt.sweep(one, 1)
    assert turns == [0, 0, 1, 0, 1]
