"""A search begins with few neighbours of a text, and without random edits as long as it comes nearer."""

from __future__ import annotations

import numpy as np
import pytest
from counting import CountingEncoder

from unembed import Inverter
from unembed.decode import strategy as decode_strategy
from unembed.search.candidate_pool import CandidatePool
from unembed.search.edits import EDITS, Entries
from unembed.search.error_model import GPErrorModel, unit
from unembed.search.guided_search import GuidedSearch
from unembed.search.neighbourhood import Neighbourhood
from unembed.search.objective import Objective
from unembed.search.prefilter import SurrogatePrefilter
from unembed.search.search_state import Hypothesis, SearchState
from unembed.search.settings import GuidedSettings

TEXT = (4, 4, 6, 8, 5)


class Explored:
    """The neighbourhood of one text, for one way to look at it."""

    def __init__(
        self, told: Inverter, surrogate: CountingEncoder, vectors: np.ndarray, **options: int
    ) -> None:
        settings = GuidedSettings(words_per_position=4, missing_words=6, single_edits=8, moves=10, **options)
        target = unit(vectors[:1])[0]
        error_model = GPErrorModel(target)
        self.state = SearchState(
            target, np.random.default_rng(0), settings, Objective(), error_model=error_model
        )
        self.parent = Hypothesis(TEXT, "parent", unit(vectors[1:2])[0], 0.5, "test")
        self.hood = Neighbourhood(told.checkpoint, settings, SurrogatePrefilter(surrogate, 3), None)
        self.hood.explore([(self.state, self.parent)], target[None])

    @property
    def read(self) -> list[Entries]:
        return self.state.neighbours.pools["parent"].entries

    def look_again(self) -> None:
        self.hood.look_again([(self.state, self.parent)])


def test_a_second_look_reads_what_the_first_left_out(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    whole = Explored(told, encoder, vectors, first_look=1, pairs=0)
    half = Explored(told, encoder, vectors, first_look=2, pairs=0)
    assert whole.state.neighbours.unread == {}
    assert len(half.read) == -(-len(whole.read) // 2)
    assert set(half.read) < set(whole.read)
    half.look_again()
    assert sorted(half.read) == sorted(whole.read)
    assert half.state.neighbours.unread == {}


def test_a_second_look_combines_the_best_of_both_and_reads_no_text_twice(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    plain, paired = (Explored(told, encoder, vectors, first_look=2, pairs=pairs) for pairs in (0, 12))
    later = plain.state.neighbours.unread["parent"]
    before = set(told.checkpoint.texts(paired.read))
    first = set(paired.read) - {*plain.read, *later}
    assert first
    encoder.texts.clear()
    paired.look_again()
    assert before.isdisjoint(encoder.texts)
    assert set(paired.read) - {*plain.read, *later} - first


def test_what_was_not_read_counts_as_left() -> None:
    settings = GuidedSettings()
    target = np.ones(3, np.float32)
    pools = SearchState(target, np.random.default_rng(0), settings, Objective()).neighbours
    pools.unread["best"] = [(1,)]
    pools.pools["best"] = pools.pools["other"] = CandidatePool([], [])
    assert pools.next_rank(["best", "other"]) == 0
    assert not pools.wants_deeper("best")
    pools.forget_all_but({"other"})
    assert pools.unread == {}


@pytest.mark.parametrize("ranked", [True, False])
def test_random_edits_begin_when_nothing_comes_nearer(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray, ranked: bool
) -> None:
    """Where no surrogate ranks the neighbours, they are as good as those, and begin at once."""

    def random_edits_of_the_first_round(random_after: int) -> set[str]:
        settings = GuidedSettings(
            max_encoder_calls=30, neighbours=4, proposals=4, beam_width=2, random_after=random_after,
            words_per_position=4, merge=0, target_cosine=2.0,
        )  # fmt: skip
        search = GuidedSearch(told.checkpoint, encoder, settings, surrogate=encoder if ranked else None)
        rounds = 0

        def twice(states: list[SearchState]) -> list[bool]:
            nonlocal rounds
            rounds += 1
            return [rounds < 2] * len(states)

        [state] = search.run(vectors[:1], [[TEXT]], twice)
        return {one.made_by.rstrip("+") for one in state.tried.values()} & {*EDITS, "several"}

    assert random_edits_of_the_first_round(0)
    assert bool(random_edits_of_the_first_round(1)) != ranked


def test_a_search_goes_on_with_random_edits_where_neighbours_lead_nowhere(
    told: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    settings = GuidedSettings(max_encoder_calls=200, target_cosine=2.0)
    [state] = GuidedSearch(told.checkpoint, encoder, settings, surrogate=encoder).run(vectors[:1], [[TEXT]])
    assert {one.made_by.rstrip("+") for one in state.tried.values()} & {*EDITS, "several"}


@pytest.mark.parametrize(("given", "used"), [(None, 3), (7, 7)])
def test_the_first_texts_take_few_passes_unless_steps_are_given(
    told: Inverter, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch, given: int | None, used: int
) -> None:
    asked, invert_batch = [], decode_strategy.invert_batch

    def watched(checkpoint, batch, lengths, decoder, config, *rest):  # type: ignore[no-untyped-def]
        asked.append(config.steps)
        return invert_batch(checkpoint, batch, lengths, decoder, config, *rest)

    monkeypatch.setattr(decode_strategy, "invert_batch", watched)
    told.invert(vectors[:1], strategy="guided", max_encoder_calls=5, start_steps=3, steps=given)
    assert asked == [used]
