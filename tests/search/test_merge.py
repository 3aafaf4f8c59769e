"""Edits of one text that came nearer each are made together."""

from __future__ import annotations

import numpy as np
from counting import CountingEncoder
from hypothesis import given
from hypothesis import strategies as st

from unembed import Inverter
from unembed.search.edits import Entries
from unembed.search.guided_search import GuidedSearch
from unembed.search.merge import MERGED, Change, change, merges, pairs
from unembed.search.settings import GuidedSettings

texts = st.lists(st.integers(0, 5), max_size=8).map(tuple)


@given(texts, texts)
def test_a_change_leads_from_one_text_to_the_other(text: Entries, edited: Entries) -> None:
    first, end, put = change(text, edited)
    assert (*text[:first], *put, *text[end:]) == edited
    if text == edited:
        assert first == end
        assert put == ()


@given(texts.filter(lambda text: len(text) > 1), st.data())
def test_words_replaced_in_different_places_are_all_replaced(text: Entries, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, len(text) - 1), unique=True, min_size=2))
    edited = [(*text[:position], 9 + position, *text[position + 1 :]) for position in positions]
    made = merges(text, edited)
    assert len(made) == len(positions) - 1
    for count, one in enumerate(made, start=2):
        assert one == tuple(9 + i if i in positions[:count] else word for i, word in enumerate(text))


@given(texts.filter(lambda text: len(text) > 1), st.data())
def test_every_two_of_the_edits_are_paired(text: Entries, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, len(text) - 1), min_size=2, max_size=5))
    edited = [(*text[:at], 9 + number, *text[at + 1 :]) for number, at in enumerate(positions)]
    wanted = {
        tuple({positions[a]: 9 + a, positions[b]: 9 + b}.get(i, word) for i, word in enumerate(text))
        for a in range(len(positions))
        for b in range(a)
        if positions[a] != positions[b]
    }
    assert set(pairs(text, edited)) == wanted


def test_words_are_put_in_and_left_out_at_once() -> None:
    text = (1, 2, 3, 4)
    longer, shorter = (1, 7, 2, 3, 4), (1, 2, 3)
    assert merges(text, [longer, shorter]) == [(1, 7, 2, 3)]


def test_of_two_that_meet_only_the_better_one_is_made() -> None:
    text = (1, 2, 3, 4)
    assert merges(text, [(1, 7, 3, 4), (1, 8, 3, 4)]) == []
    assert merges(text, [(1, 7, 2, 3, 4), (1, 8, 2, 3, 4)]) == []
    assert merges(text, [(1, 7, 3, 4), (1, 8, 3, 4), (1, 2, 3, 9)]) == [(1, 7, 3, 9)]
    assert Change(1, 3, (7,)).meets(Change(2, 2, (8,)))
    assert not Change(1, 2, (7,)).meets(Change(2, 3, (8,)))


def test_a_search_merges_what_came_nearer(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    start = (4, 4, 6, 8, 5)

    def tried(merge: int) -> list[str]:
        settings = GuidedSettings(
            max_encoder_calls=60,
            beam_width=2,
            proposals=2,
            words_per_position=4,
            merge=merge,
            target_cosine=2.0,
        )
        states = GuidedSearch(told.checkpoint, encoder, settings).run(vectors[:3], [[start]] * 3)
        assert all(state.calls <= 60 for state in states)
        return [one.made_by for state in states for one in state.tried.values()]

    assert MERGED in tried(10)
    assert MERGED not in tried(0)
