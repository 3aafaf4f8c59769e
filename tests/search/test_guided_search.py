"""What a guided search promises, on a model that knows nothing: only the search can find anything."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from counting import CountingEncoder

import toy
from unembed import Inverter
from unembed.decode.observer import Update
from unembed.errors import MismatchError, UsageError
from unembed.inverter import Inversion
from unembed.search import guided_search
from unembed.search.guided_search import GuidedSearch
from unembed.search.guided_strategy import START_LENGTHS, rank
from unembed.search.settings import GuidedSettings

STARTS = 4  # and few proposals per round: what is promised does not depend on how many there are
SMALL = {"num_starts": STARTS, "beam_width": 2, "proposals": 4}


def guided(inverter: Inverter, vectors: Any, calls: int = 24, **options: Any) -> Any:
    return inverter.invert(vectors, strategy="guided", max_encoder_calls=calls, **SMALL | options)


def cosine(encoder: toy.ToyEncoder, text: str, vector: np.ndarray) -> float:
    return float(encoder.encode([text])[0] @ vector)


def story(result: Inversion) -> list[tuple[int, str]]:
    return [(one.calls, one.text) for one in result.advances]


def test_it_never_ends_farther_than_it_began(
    inverter: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    plain, found = inverter.invert(vectors), guided(inverter, vectors)
    assert max(len(one.advances) for one in found) > 2
    for vector, before, after in zip(vectors, plain, found, strict=True):
        assert after.cosine >= cosine(encoder, before.text, vector) - 1e-6
        assert after.cosine == pytest.approx(cosine(encoder, after.text, vector), abs=1e-5)
        cosines = [one.cosine for one in after.advances]
        assert cosines == sorted(set(cosines))
        assert after.cosine >= cosines[-1] - 1e-6
        assert after.encoder_calls >= after.advances[-1].calls


@pytest.mark.parametrize("calls", [1, 7, 33])
def test_the_budget_is_kept_to_the_text(
    inverter: Inverter, encoder: CountingEncoder, vectors: np.ndarray, calls: int
) -> None:
    results = guided(inverter, vectors, calls, target_cosine=2.0)
    assert [one.encoder_calls for one in results] == [calls] * len(vectors)
    assert len(encoder.texts) == calls * len(vectors)


def test_no_text_is_paid_for_twice(inverter: Inverter, encoder: CountingEncoder, vectors: np.ndarray) -> None:
    guided(inverter, vectors[0], 50)
    assert len(set(encoder.texts)) == len(encoder.texts)
    assert "" not in encoder.texts


def test_without_a_call_it_is_the_plain_inversion(
    inverter: Inverter, encoder: CountingEncoder, vectors: np.ndarray
) -> None:
    for n_best in (1, 3):
        assert guided(inverter, vectors, 0, n_best=n_best) == inverter.invert(vectors, n_best=n_best)
    assert encoder.texts == []


def test_the_same_seed_gives_the_same_alone_and_in_a_batch(inverter: Inverter, vectors: np.ndarray) -> None:
    together = guided(inverter, vectors, seed=3)
    again = guided(inverter, vectors, seed=3)
    backwards = guided(inverter, vectors[::-1], seed=3)[::-1]
    alone = [guided(inverter, vector, seed=3) for vector in vectors]
    small = guided(inverter, vectors, seed=3, batch=3)
    for others in (again, backwards, alone, small):
        assert [one.text for one in others] == [one.text for one in together]
        assert [story(one) for one in others] == [story(one) for one in together]
        assert [one.encoder_calls for one in others] == [one.encoder_calls for one in together]
    different = guided(inverter, vectors, seed=4)
    assert [story(one) for one in different] != [story(one) for one in together]


def test_a_smaller_budget_is_the_beginning(inverter: Inverter, vectors: np.ndarray) -> None:
    long = guided(inverter, vectors, 40)
    for calls in (3, 21):
        for short, whole in zip(guided(inverter, vectors, calls), long, strict=True):
            assert story(short) == [step for step in story(whole) if step[0] <= calls]


def test_n_best_are_the_nearest(inverter: Inverter, encoder: CountingEncoder, vectors: np.ndarray) -> None:
    result = guided(inverter, vectors[0], n_best=4)
    texts = [result.text, *(one.text for one in result.alternatives)]
    assert len(set(texts)) == 4
    near = [cosine(encoder, text, vectors[0]) for text in texts]
    assert near == pytest.approx(sorted(near, reverse=True), abs=1e-5)
    assert near[0] == pytest.approx(result.cosine, abs=1e-5)


def test_known_lengths_are_kept(told: Inverter, vectors: np.ndarray) -> None:
    lengths = [3, 8, 1]
    results = guided(told, vectors, lengths=lengths, n_best=3, trace=True)
    for length, result in zip(lengths, results, strict=True):
        assert result.length_known
        assert {len(one.tokens) for one in result.advances} == {len(result.tokens)} == {length}
        assert all(len(other.tokens) == length for other in result.alternatives)
    with pytest.raises(UsageError, match="1 to 10 tokens"):
        guided(told, vectors, lengths=11)


def test_no_text_is_longer_than_the_model_writes(inverter: Inverter, vectors: np.ndarray) -> None:
    for result in guided(inverter, vectors[:2], 40, n_best=40):
        for other in result.alternatives:
            assert 1 <= len(other.tokens) <= inverter.max_length


def test_the_trace_is_every_nearer_text(inverter: Inverter, vectors: np.ndarray) -> None:
    result = guided(inverter, vectors[0], trace=True)
    assert [frame.text for frame in result.trace] == [one.text for one in result.advances]


def test_what_is_near_enough_ends_it(told: Inverter, vectors: np.ndarray) -> None:
    result = guided(told, vectors[0], 1000, target_cosine=0.5)
    assert result.cosine >= 0.5
    assert result.encoder_calls < 1000


def test_a_deadline_gives_the_best_so_far(
    inverter: Inverter, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count()  # a clock on which every look at it takes a second
    monkeypatch.setattr(guided_search, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    results = guided(inverter, vectors, 10_000_000, seconds=2)
    assert next(ticks) == 3  # it began at 0, went on at 1 and ended at 2
    assert all(0 < one.encoder_calls < 10_000_000 for one in results)
    assert all(one.cosine == pytest.approx(one.advances[-1].cosine, abs=1e-6) for one in results)


class Interrupting(CountingEncoder):
    """Somebody presses Ctrl-C while it embeds."""

    after = 0

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        if len(self.texts) >= self.after:
            raise KeyboardInterrupt
        return super().encode(texts, batch_tokens=batch_tokens)


@pytest.mark.parametrize("after", [0, 20, 50])
def test_an_interrupt_gives_the_best_so_far(inverter: Inverter, vectors: np.ndarray, after: int) -> None:
    pressed = Interrupting(tokenizer=toy.wordpiece())
    pressed.after = after
    results = guided(inverter, vectors, 40, encoder=pressed)
    assert sum(one.encoder_calls for one in results) == len(pressed.texts)
    # What it would have begun with.
    steps = GuidedSettings().start_steps
    first = inverter.invert(vectors, n_best=STARTS, num_lengths=START_LENGTHS, steps=steps)
    plain = [one.text for one in first]
    whole = guided(inverter, vectors, 40)
    for result, full, before in zip(results, whole, plain, strict=True):
        if after == 0:
            assert result.cosine is None
            assert result.text == before
        else:
            assert story(full)[: len(result.advances)] == story(result)
            # Of texts that are equally near, the likelier one.
            assert result.cosine == pytest.approx(result.advances[-1].cosine, abs=2e-6)


def test_after_an_interrupt_the_rest_is_only_decoded(told: Inverter) -> None:
    pressed = Interrupting(tokenizer=toy.wordpiece())
    pressed.after = 20
    many = toy.ToyEncoder(tokenizer=toy.wordpiece()).encode(toy.sentences(6))
    results = guided(told, many, 40, encoder=pressed, batch=4)  # searched for four by four
    assert all(one.cosine is not None for one in results[:4])
    rest = told.invert(many[4:], batch=4)
    assert [one.text for one in results[4:]] == [one.text for one in rest]
    assert all(one.encoder_calls == 0 for one in results[4:])


def test_who_observes_can_end_it(inverter: Inverter, vectors: np.ndarray) -> None:
    seen: list[int] = []

    def observe(updates: Sequence[Update]) -> list[bool]:
        seen.append(len(updates))
        return [update.row != 1 for update in updates]

    results = guided(inverter, vectors, observe=observe)
    assert seen[0] == 3
    assert seen[1] == 2
    assert results[1].encoder_calls <= STARTS
    untouched = guided(inverter, vectors)
    for row in (0, 2):
        assert story(results[row]) == story(untouched[row])


def test_an_observer_is_told_how_far_the_search_is(told: Inverter, vectors: np.ndarray) -> None:
    told_of: list[Update] = []
    results = guided(told, vectors, 30, batch_size=2, observe=told_of.extend)
    for row, result in enumerate(results):
        mine = [update for update in told_of if update.row == row]
        assert [update.step for update in mine] == list(range(len(mine)))
        calls = [update.search.encoder_calls for update in mine]
        assert calls == sorted(calls)
        assert calls[-1] == result.encoder_calls <= mine[-1].search.max_encoder_calls == 30
        assert mine[-1].search.text == result.text
        assert mine[-1].tokens == result.tokens
        assert mine[-1].search.cosine == pytest.approx(result.cosine)


def test_the_best_text_is_reported_at_fewer_calls_too(told: Inverter, vectors: np.ndarray) -> None:
    whole = guided(told, vectors, 40, report_at=(5, 20))
    for calls, index in ((5, 0), (20, 1)):
        fewer = guided(told, vectors, calls)
        for one, cut in zip(whole, fewer, strict=True):
            assert one.at_calls[index].text == cut.text
            assert one.at_calls[index].cosine == pytest.approx(cut.cosine)


def test_a_deadline_is_for_all_vectors_together(
    told: Inverter, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock jumps beyond the deadline during the first batch: the second is decoded and not searched."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def observe(updates: Sequence[Update]) -> None:
        now[0] += 100.0

    results = guided(told, vectors, 40, batch_size=1, seconds=50.0, observe=observe)
    assert results[0].encoder_calls > 0
    assert [one.encoder_calls for one in results[1:]] == [0] * (len(results) - 1)
    assert [one.text for one in results[1:]] == [one.text for one in told.invert(vectors[1:], check=False)]


def test_an_interrupt_can_be_raised_instead(told: Inverter, vectors: np.ndarray) -> None:
    def press(updates: Sequence[Update]) -> None:
        raise KeyboardInterrupt

    assert len(guided(told, vectors, 40, observe=press)) == len(vectors)
    with pytest.raises(KeyboardInterrupt):
        guided(told, vectors, 40, observe=press, keep_on_interrupt=False)


def test_another_encoder_can_guide(inverter: Inverter, encoder: CountingEncoder, vectors: np.ndarray) -> None:
    other = CountingEncoder(name="surrogate", tokenizer=toy.wordpiece())
    result = guided(inverter, vectors[0], 20, encoder=other)
    assert result.encoder_calls == len(other.texts) == 20
    assert encoder.texts == []


def test_an_encoder_by_name_is_loaded_once(
    told: Inverter, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def load(name: str, **how: object) -> CountingEncoder:
        loaded.append(name)
        return CountingEncoder(name=name, tokenizer=toy.wordpiece())

    monkeypatch.setattr("unembed.inverter.load_encoder", load)
    for _ in range(2):
        guided(told, vectors[0], 5, encoder="endpoint")
    assert loaded == ["endpoint"]


def test_an_encoder_of_another_dimension_is_refused(inverter: Inverter, vectors: np.ndarray) -> None:
    wrong = toy.ToyEncoder(name="wide", dimension=17, tokenizer=toy.wordpiece())
    with pytest.raises(MismatchError, match=r"'wide' makes vectors of 17 numbers.*16") as told:
        guided(inverter, vectors, encoder=wrong)
    assert "toy" in str(told.value.hint)


def test_only_a_guided_search_takes_an_encoder(told: Inverter, vectors: np.ndarray) -> None:
    with pytest.raises(UsageError, match="needs no encoder"):
        told.invert(vectors, encoder="minilm")
    with pytest.raises(UsageError, match="no option 'max_encoder_calls'"):
        told.invert(vectors, max_encoder_calls=5)
    with pytest.raises(UsageError, match="beam_width must be at least 1"):
        guided(told, vectors, beam_width=0)
    with pytest.raises(UsageError, match="max_encoder_calls must be at least 0"):
        guided(told, vectors, -1)


def test_vectors_need_not_be_of_length_one(told: Inverter, vectors: np.ndarray) -> None:
    result = guided(told, 3 * vectors[0], check=False)
    assert -1 <= result.cosine <= 1 + 1e-6


def test_a_surrogate_does_not_have_the_last_word(
    told: Inverter, encoder: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cosines are not the encoder's: the answer is near and likely, at any budget."""
    surrogate = CountingEncoder(tokenizer=toy.wordpiece())
    surrogate.info = encoder.info.model_copy(update={"digest": "another"})
    vector, states = encoder.encode(toy.sentences(1, seed=9))[0], []
    search = GuidedSearch.run
    monkeypatch.setattr(GuidedSearch, "run", lambda *given: states.extend(out := search(*given)) or out)
    result = guided(told, vector, 30, encoder=surrogate, target_cosine=0.0, n_best=3)
    state = states[0]
    assert (
        state.objective.denoiser_weight
        == GuidedSettings().denoiser_weight_by_surrogate
        > GuidedSettings().denoiser_weight
    )
    assert result.encoder_calls == len(state.tried) == 30  # a high cosine does not end it
    assert result.text == max((state.tried[text] for text in state.denoiser_scores), key=state.value).text
    few = replace(state, tried=dict(itertools.islice(state.tried.items(), 12)))
    ranked, scores = rank(told.checkpoint, vector, few, 3, length_known=False)
    assert len(ranked) == len(scores) == 3
    assert all(one.text in few.tried for one in ranked)
    assert [few.value(one) for one in ranked] == sorted((few.value(one) for one in ranked), reverse=True)


def test_a_round_whose_edits_all_leave_the_bounds_is_only_a_round(
    told: Inverter, encoder: CountingEncoder
) -> None:
    """One edit per round, of a text as long as the caller said: often none of them keeps the length."""
    vector = encoder.encode(toy.sentences(1, seed=3))[0]
    one = {"beam_width": 1, "proposals": 1, "num_starts": 1, "target_cosine": 2.0}
    result = guided(told, vector, 12, lengths=4, **one)
    assert result.encoder_calls == 12
    assert len(result.tokens) == 4
