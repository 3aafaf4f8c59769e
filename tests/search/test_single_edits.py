"""Single-edit neighbours are every text that is one likely word away, and a search tries the best of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from counting import CountingEncoder

import tiny
from unembed import Inverter
from unembed.decode.conditioned import ConditionedDenoiser
from unembed.search.edits import Entries
from unembed.search.error_model import GPErrorModel, unit
from unembed.search.guided_search import GuidedSearch
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.objective import Objective
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings
from unembed.search.single_edits import Neighbour, SingleEdits

WORDS = 3
TEXTS: list[Entries] = [(5, 9, 7), (4, 4, 6, 8, 5), (11,)]


def around(
    inverter: Inverter, texts: list[Entries], targets: np.ndarray, max_length: int = 8, known: bool = False
) -> list[list[Neighbour]]:
    lengths = [len(text) if known else None for text in texts]
    found = SingleEdits(inverter.checkpoint, WORDS).around(
        texts, targets, max_length=max_length, lengths=lengths
    )
    for text, one in zip(texts, found, strict=True):
        assert one.passes == (len(text) if known or len(text) >= max_length else 2 * len(text) + 1)
    return [one.neighbours for one in found]


def state_of(target: np.ndarray, settings: GuidedSettings, max_length: int) -> SearchState:
    model = GPErrorModel(target)
    random = np.random.default_rng(0)
    return SearchState(target, random, settings, Objective(), max_length=max_length, error_model=model)


def replaced(text: Entries, other: Entries) -> bool:
    return len(text) == len(other) and sum(a != b for a, b in zip(text, other, strict=True)) == 1


def one_longer(short: Entries, long: Entries) -> bool:
    return any((*long[:i], *long[i + 1 :]) == short for i in range(len(long))) and len(long) == len(short) + 1


def test_all_of_them_are_one_word_away(inverter: Inverter, vectors: np.ndarray) -> None:
    for text, some in zip(TEXTS, around(inverter, TEXTS, vectors[:3]), strict=True):
        entries = [one.entries for one in some]
        assert len(set(entries)) == len(entries)
        for other in entries:
            assert replaced(text, other) or one_longer(text, other) or one_longer(other, text)
        shorter = {(*text[:i], *text[i + 1 :]) for i in range(len(text))} if len(text) > 1 else set()
        assert {other for other in entries if len(other) < len(text)} == shorter
        same = [other for other in entries if len(other) == len(text)]
        assert WORDS * len(text) <= len(same) <= (WORDS + 1) * len(text)


def test_a_known_length_and_the_longest_text_are_kept(inverter: Inverter, vectors: np.ndarray) -> None:
    for text, some in zip(TEXTS, around(inverter, TEXTS, vectors[:3], known=True), strict=True):
        assert some
        assert all(replaced(text, one.entries) for one in some)
    for text, some in zip(TEXTS, around(inverter, TEXTS, vectors[:3], max_length=5), strict=True):
        assert max(len(one.entries) for one in some) == min(len(text) + 1, 5)


def test_they_do_not_depend_on_their_company(inverter: Inverter, vectors: np.ndarray) -> None:
    together = around(inverter, TEXTS, vectors[:3])
    for position, text in enumerate(TEXTS):
        [alone] = around(inverter, [text], vectors[position : position + 1])
        assert [one.entries for one in alone] == [one.entries for one in together[position]]


@pytest.mark.parametrize("rows", [1, 4, 9])
def test_they_do_not_depend_on_how_many_sequences_make_a_pass(
    told: Inverter, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """A word that is missing is put in its best position, whoever else is asked about in the same pass."""
    before = missing_around(told, vectors)
    monkeypatch.setattr("unembed.search.single_edits.ROWS", rows)
    assert missing_around(told, vectors) == before


def missing_around(told: Inverter, vectors: np.ndarray) -> list[set[Entries]]:
    edits = SingleEdits(told.checkpoint, 1, missing_words=6)
    found = edits.around(TEXTS, vectors[:3], max_length=8, lengths=[None] * 3)
    return [{one.entries for one in some.neighbours if one.missing} for some in found]


def test_the_words_are_the_denoisers_likeliest(told: Inverter, vectors: np.ndarray) -> None:
    """At the first position, against a pass of our own."""
    checkpoint, (first, *rest) = told.checkpoint, TEXTS[0]
    tokens = torch.tensor([[checkpoint.denoiser.config.mask_id, *rest]])
    vector, banned = torch.from_numpy(vectors[:1]), [checkpoint.vocabulary.unknown]
    model = ConditionedDenoiser.read(checkpoint.denoiser, vector, torch.tensor([3]), banned, 0.0)
    wanted = torch.tensor([[True, False, False]])
    with torch.no_grad():
        log_prob = torch.log_softmax(model.logits(tokens, torch.tensor([1 / 3]), wanted), dim=1)[0]
    [some] = around(told, [TEXTS[0]], vectors[:1])
    mine = {one.entries[0]: one.log_prob for one in some if one.entries[1:] == tuple(rest)}
    assert set(mine) == set(log_prob.topk(WORDS + 1).indices.tolist()) - {first}
    for word, value in mine.items():
        assert value == pytest.approx(float(log_prob[word]), abs=1e-4)


@pytest.mark.parametrize(("words_per_mask", "passes"), [(8, 8 + 11), (5, 5 + 7)])
def test_a_long_text_has_several_masks_at_once(
    encoder: CountingEncoder, vectors: np.ndarray, words_per_mask: int, passes: int
) -> None:
    """One word in eight or five, or two or three more: every position still gets its neighbours."""
    text = tuple(4 + position % 9 for position in range(20))
    long = tiny.checkpoint(encoder.tokenizer(), encoder.info, max_length=24)
    edits = SingleEdits(long, WORDS, words_per_mask=words_per_mask)
    [found] = edits.around([text], vectors[:1], max_length=24, lengths=[None])
    assert found.passes == passes  # of 20 words and 21 points between them
    entries = [one.entries for one in found.neighbours]
    assert len(set(entries)) == len(entries)
    assert all(replaced(text, one) or one_longer(text, one) or one_longer(one, text) for one in entries)
    for position in range(len(text)):
        assert (*text[:position], *text[position + 1 :]) in entries
        before, after = text[:position], text[position + 1 :]
        put = [one for one in entries if one[:position] == before and one[position + 1 :] == after]
        assert WORDS <= len({one for one in put if len(one) == len(text)}) <= WORDS + 1
    for point in range(len(text) + 1):
        assert any(
            len(one) == len(text) + 1 and one[:point] == text[:point] and one[point + 1 :] == text[point:]
            for one in entries
        )


@pytest.mark.parametrize("known", [False, True])
def test_what_the_text_lacks_is_put_where_it_fits_best(
    told: Inverter, vectors: np.ndarray, known: bool
) -> None:
    """Of the lexical head's words those that are not in the text, once in each kind of gap at most."""
    text, missing, checkpoint = TEXTS[1], 6, told.checkpoint
    lengths = [len(text) if known else None]
    [every] = SingleEdits(checkpoint, 1000).around([text], vectors[:1], max_length=8, lengths=lengths)
    [some] = SingleEdits(checkpoint, 1, missing).around([text], vectors[:1], max_length=8, lengths=lengths)
    with torch.no_grad():
        e = checkpoint.denoiser.standardise(torch.from_numpy(vectors[:1]))
        lexical = checkpoint.denoiser.lexical(e)[0]
    lexical[[*text, checkpoint.vocabulary.unknown]] = -torch.inf
    expected = set(lexical.topk(missing).indices.tolist())
    lacking = [one for one in some.neighbours if one.missing]
    assert lacking
    for one in lacking:
        [word] = set(one.entries) - set(text)
        assert word in expected
        rivals = [
            other.log_prob
            for other in every.neighbours
            if word in other.entries and len(other.entries) == len(one.entries)
        ]
        assert one.log_prob == pytest.approx(max(rivals), abs=1e-4)
    # A word that is its position's likeliest is there already, as such.
    said = {word for one in some.neighbours for word in one.entries}
    assert expected <= said


@pytest.mark.parametrize("prefiltered", [False, True])
def test_a_round_embeds_the_promising_ones_first(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, prefiltered: bool
) -> None:
    """A search of neighbours alone comes nearer, within its budget."""
    settings = GuidedSettings(
        max_encoder_calls=40, beam_width=2, proposals=1, neighbours=6, words_per_position=4, target_cosine=2.0
    )
    search = GuidedSearch(told.checkpoint, encoder, settings, surrogate=encoder if prefiltered else None)
    states = search.run(vectors[:2], [[TEXTS[0]], [TEXTS[1]]])
    for state in states:
        assert state.calls == 40
        near = [one for one in state.tried.values() if one.made_by == "neighbour"]
        assert len(near) >= 12
        assert all(one.parent in state.neighbours.turns for one in near)
    assert any(one.made_by == "neighbour" for state in states for one in state.history)


def test_leaving_a_word_out_does_not_come_before_every_other_neighbour(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    """Where no surrogate chooses, the denoiser does, among words put in as among words left out."""
    settings = GuidedSettings(
        max_encoder_calls=7, beam_width=1, proposals=1, neighbours=6, words_per_position=4, target_cosine=2.0
    )
    text = TEXTS[1] + TEXTS[1]  # more words to leave out than texts to embed
    [state] = GuidedSearch(told.checkpoint, encoder, settings).run(vectors[:1], [[text]])
    sizes = [len(one.entries) for one in state.tried.values() if one.made_by == "neighbour"]
    assert sizes
    assert any(size >= len(text) for size in sizes)


def test_leaving_a_word_out_counts_as_one_more_of_its_rivals(told: Inverter, vectors: np.ndarray) -> None:
    text = TEXTS[0]
    [some] = around(told, [text], vectors[:1])
    value = {one.entries: one.log_prob for one in some}
    for position in range(len(text)):
        before, after = text[:position], text[position + 1 :]
        rivals = [
            number
            for entries, number in value.items()
            if len(entries) == len(text) and entries[:position] == before and entries[position + 1 :] == after
        ]
        assert value[before + after] == pytest.approx(np.log(np.exp(rivals).mean()), abs=1e-6)


@pytest.mark.parametrize("prefiltered", [False, True])
def test_moves_are_neighbours_where_a_surrogate_can_rank_them(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, prefiltered: bool
) -> None:
    settings = GuidedSettings(
        max_encoder_calls=120,
        beam_width=1,
        proposals=1,
        neighbours=100,
        words_per_position=1,
        missing_words=0,
        moves=40,
        merge=0,
        target_cosine=2.0,
    )
    search = GuidedSearch(told.checkpoint, encoder, settings, surrogate=encoder if prefiltered else None)
    [state] = search.run(vectors[:1], [[TEXTS[1]]])
    near = [one for one in state.tried.values() if one.made_by == "neighbour" and one.parent is not None]
    moved = [one for one in near if sorted(one.entries) == sorted(state.tried[one.parent].entries)]
    assert bool(moved) == prefiltered
    assert len(moved) < len(near)


def test_a_surrogate_says_which_neighbours_come_first(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    """One that is the encoder itself is always right."""
    settings = GuidedSettings(
        max_encoder_calls=13,
        beam_width=1,
        proposals=1,
        neighbours=12,
        words_per_position=4,
        target_cosine=2.0,
    )
    [state] = GuidedSearch(told.checkpoint, encoder, settings, surrogate=encoder).run(
        vectors[:1], [[TEXTS[1]]]
    )
    cosines = [one.cosine for one in state.tried.values() if one.made_by == "neighbour"]
    assert len(cosines) == 12
    assert cosines == pytest.approx(sorted(cosines, reverse=True), abs=1e-6)


def test_the_most_promising_changes_are_looked_at_two_by_two(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    def around(pairs: int) -> set[Entries]:
        settings = GuidedSettings(words_per_position=2, missing_words=0, moves=0, pairs=pairs, first_look=1)
        text, target = TEXTS[1], vectors[0] / np.linalg.norm(vectors[0])
        state = state_of(target, settings, max_length=6)
        parent = Hypothesis(text, "parent", target, 0.5, "test")
        prefilter = SurrogatePrefilter(encoder, 3)
        Neighbourhood(told.checkpoint, settings, prefilter, None).explore([(state, parent)], target[None])
        return set(state.neighbours.pools["parent"].entries)

    single, paired = around(0), around(5)
    assert single < paired
    assert max(map(len, paired)) == 6  # two words more would be seven
    for entries in paired - single:
        assert not replaced(TEXTS[1], entries)
        assert not one_longer(TEXTS[1], entries)


def test_exploring_deeper_adds_less_likely_words_and_longer_moves(
    encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, length="given", max_length=14)
    settings = GuidedSettings(words_per_position=1, missing_words=0, moves=1000, pairs=0, first_look=1)
    text, target = tuple(range(4, 16)), vectors[0] / np.linalg.norm(vectors[0])
    state = state_of(target, settings, max_length=14)
    parent = Hypothesis(text, "parent", target, 0.5, "test")
    neighbourhood = Neighbourhood(model, settings, SurrogatePrefilter(encoder, 3), None)
    neighbourhood.explore([(state, parent)], target[None])
    plain = state.neighbours.pools["parent"]
    neighbourhood.explore([(state, parent)], target[None], deep=True)
    deep = state.neighbours.pools["parent"]
    assert deep.entries[: len(plain)] == plain.entries
    assert len(set(deep.texts)) == len(deep)
    assert deep.by_surrogate is not None
    assert len(deep.by_surrogate) == len(deep)
    new = deep.entries[len(plain) :]
    assert sum(len(one) == len(text) and sorted(one) != sorted(text) for one in new) >= len(text)
    turned = (*text[6:], *text[:6])  # six words stand elsewhere, one more than a first exploration moves
    assert turned in new
    assert turned not in plain.entries


def test_a_search_that_finds_nothing_nearer_looks_deeper(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, explore = set(), Neighbourhood.explore

    def watched(neighbourhood: Neighbourhood, asked: list, aims: np.ndarray, *, deep: bool = False) -> None:
        if deep:
            looked.update((id(state), parent.text) for state, parent in asked)
        explore(neighbourhood, asked, aims, deep=deep)

    monkeypatch.setattr(Neighbourhood, "explore", watched)
    settings = GuidedSettings(
        max_encoder_calls=150,
        beam_width=2,
        diversify_after=3,
        proposals=1,
        neighbours=2,
        words_per_position=1,
        missing_words=0,
        target_cosine=2.0,
    )
    search = GuidedSearch(told.checkpoint, encoder, settings, surrogate=encoder)
    states = search.run(vectors, [[TEXTS[1]]] * len(vectors))
    assert looked
    assert looked == {(id(state), text) for state in states for text in state.neighbours.deepened}
    assert all(state.settings.diversify_after == 3 for state in states)


def test_a_search_looks_deeper_where_one_turn_tries_all_neighbours(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    settings = GuidedSettings(
        max_encoder_calls=150,
        beam_width=2,
        proposals=1,
        neighbours=1000,
        words_per_position=1,
        merge=0,
        target_cosine=2.0,
    )
    [state] = GuidedSearch(told.checkpoint, encoder, settings).run(vectors[:1], [[TEXTS[0]]])
    assert state.neighbours.deepened


class Opposite(CountingEncoder):
    """A surrogate that is as wrong as can be."""

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        return -super().encode(texts, batch_tokens=batch_tokens)


def test_a_search_learns_where_its_surrogate_is_wrong(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    surrogate = Opposite(tokenizer=encoder.tokenizer())
    settings = GuidedSettings(
        max_encoder_calls=60, beam_width=2, neighbours=6, words_per_position=4, target_cosine=2.0
    )
    [state] = GuidedSearch(told.checkpoint, encoder, settings, surrogate=surrogate).run(
        vectors[:1], [[TEXTS[1]]]
    )
    assert state.error_model is not None
    tried = list(state.tried.values())
    predicted = state.error_model.predict(unit(surrogate.encode([one.text for one in tried])))
    np.testing.assert_allclose(predicted, [one.cosine for one in tried], atol=0.2)
