"""The parts of decoding: noise, choice, order, length, score."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unembed.decode.base import State, largest, share_now
from unembed.decode.beam import Beam
from unembed.decode.choose import likeliest, sampled
from unembed.decode.confidence import Confidence
from unembed.decode.entropy_bound import entropies
from unembed.decode.euler_remask import EulerRemask
from unembed.decode.noise import combine, uniform, vector_seeds
from unembed.decode.rank import likely_lengths, text_score
from unembed.decode.registry import DECODERS, make_decoder
from unembed.decode.strategy_options import check_options, parse_options
from unembed.errors import UsageError

MASK = 50


def state(length: int, *, steps: int = 4, step: int = 0, rows: int = 2) -> State:
    return State(
        tokens=torch.full((rows, length), MASK),
        log_prob=torch.zeros(rows, length),
        lengths=torch.full((rows,), length),
        seeds=torch.arange(rows),
        mask_id=MASK,
        steps=torch.full((rows,), steps),
        step=step,
    )


def test_noise_is_uniform_and_its_channels_independent() -> None:
    draws = uniform(torch.arange(4000), 25, step=3)
    assert 0 < float(draws.min()) < float(draws.max()) < 1
    assert float(draws.mean()) == pytest.approx(0.5, abs=0.005)
    assert float(draws.var()) == pytest.approx(1 / 12, abs=0.002)
    others = [
        uniform(torch.arange(4000), 25, step=3, channel=1),
        uniform(torch.arange(4000), 25, step=4),
        uniform(torch.arange(4000) + 1, 25, step=3),
        draws.roll(1, dims=1),
    ]
    for other in others:
        both = torch.stack([draws.flatten(), other.flatten()])
        assert abs(float(torch.corrcoef(both)[0, 1])) < 0.015


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**40), st.integers(0, 100))
@settings(max_examples=50)
def test_noise_belongs_to_the_sequence(seed: int, other: int, step: int) -> None:
    seeds = torch.tensor([other, seed, 7])
    assert torch.equal(uniform(seeds, 9, step)[1], uniform(torch.tensor([seed]), 9, step)[0])
    assert torch.equal(uniform(seeds, 9, step)[:, :4], uniform(seeds, 4, step))


def test_vector_seeds_follow_vector_and_seed() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    seeds = vector_seeds(vectors, 1)
    assert len(set(seeds.tolist())) == 50
    assert torch.equal(seeds[7:9], vector_seeds(vectors[7:9], 1))
    assert not torch.equal(seeds, vector_seeds(vectors, 2))
    assert len(vector_seeds(vectors[:0], 0)) == 0
    assert not torch.equal(combine(seeds, 1), combine(seeds, 2))


def test_sampling_follows_the_distribution() -> None:
    p = torch.tensor([0.5, 0.0, 0.3, 0.2])
    draw = (torch.arange(10_000) + 0.5) / 10_000
    token, log_prob = sampled(p.log().expand(10_000, 4), draw)
    counts = torch.bincount(token, minlength=4) / 10_000
    assert torch.allclose(counts, p, atol=1e-3)
    assert torch.allclose(log_prob.exp(), p[token], atol=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0, 2.0]))
@settings(max_examples=50)
def test_a_banned_token_is_never_sampled(seed: int, temperature: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(20, 7, generator=generator)
    logits[:, [0, 6]] = -torch.inf
    draw = torch.rand(20, generator=generator).clamp(1e-7, 1 - 1e-7)
    draw[0], draw[1] = 1e-8, 1 - 1e-8
    token, log_prob = sampled(logits, draw, temperature)
    assert ((token > 0) & (token < 6)).all()
    assert log_prob.isfinite().all()


def test_the_likeliest_and_its_probability() -> None:
    token, log_prob = likeliest(torch.tensor([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]]).log())
    assert token.tolist() == [1, 0]
    assert log_prob.exp().tolist() == pytest.approx([0.7, 0.6])


def test_entropy_in_nats() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, -torch.inf, -torch.inf, -torch.inf]])
    assert entropies(logits).tolist() == pytest.approx([math.log(4), 0.0], abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 60))
def test_shares_add_up_to_the_whole(length: int, steps: int) -> None:
    """The remainder is spread: shares differ by at most one, larger ones first, none is left over."""
    steps, left, shares = min(steps, length), length, []
    for step in range(steps):
        share = int(share_now(torch.tensor([left]), state(1, steps=steps, step=step))[0])
        shares.append(share)
        left -= share
    assert left == 0
    assert max(shares) - min(shares) <= 1
    assert shares == sorted(shares, reverse=True)


def test_largest_takes_as_many_as_asked_from_the_left() -> None:
    values = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    assert largest(values, torch.tensor([2, 3])).tolist() == [
        [False, True, True, False],
        [True, True, True, False],
    ]


def test_confidence_reveals_the_surest_first() -> None:
    logits = torch.zeros(4, MASK)
    logits[torch.arange(4), torch.tensor([3, 4, 5, 6])] = torch.tensor([1.0, 9.0, 5.0, 2.0])
    begin = state(4, steps=2, rows=1)
    after = make_decoder("confidence").step(logits, begin.masked, begin)
    assert after.tokens.tolist() == [[MASK, 4, 5, MASK]]


def test_margin_prefers_the_place_without_a_rival() -> None:
    logits = torch.full((2, MASK), -30.0)
    logits[0, :2] = torch.tensor([3.0, 2.9])  # likelier than anything at the other place, but contested
    logits[1, :20] = torch.tensor([2.5, *[0.0] * 19])
    begin = state(2, steps=2, rows=1)
    by = {
        name: make_decoder("confidence", by=name).step(logits, begin.masked, begin).tokens.tolist()[0]
        for name in ("probability", "margin")
    }
    assert by == {"probability": [0, MASK], "margin": [MASK, 0]}


def test_entropy_bound_reveals_all_that_is_certain() -> None:
    logits = torch.zeros(5, MASK)
    logits[:3, 7] = 40.0
    begin = state(5, steps=5, rows=1)
    after = make_decoder("entropy-bound", bound=0.1).step(logits, begin.masked, begin)
    # The three certain ones cost nothing; of the others, one may come: its own entropy is not joint.
    assert (after.tokens[0, :3] == 7).all()
    assert after.masked.sum() == 1


def test_remasking_takes_back_the_least_likely() -> None:
    begin = state(10, steps=5, rows=1)
    shown = begin.reveal(
        torch.arange(10)[None] < 9, torch.arange(9), torch.tensor([-0.1] * 4 + [-9.0] + [-0.2] * 4)
    )
    decoder = make_decoder("euler-remask", share=0.111)  # one of nine, whatever the rounding
    nothing = torch.zeros_like(begin.masked)
    after = decoder.step(torch.zeros(0, MASK), nothing, shown)
    assert bool(after.masked[0, 4])
    assert after.masked.sum() <= 3


def test_likely_lengths() -> None:
    p = torch.tensor([[0.5, 0.05, 0.3, 0.15, 0.0005], [0.0, 0.25, 0.25, 0.25, 0.25]])
    rows, length, log_prob = likely_lengths(p.clamp(min=1e-9).log(), 3)
    assert rows.tolist() == [0, 0, 0, 1, 1, 1]
    assert length[:3].tolist() == [2, 3, 1]  # never zero, and not the length that is 600 times less likely
    assert log_prob[:3].exp().tolist() == pytest.approx(
        [0.3 / 0.5005, 0.15 / 0.5005, 0.05 / 0.5005], rel=1e-3
    )
    assert likely_lengths(p[:1].clamp(min=1e-9).log(), 9)[1].tolist() == [2, 3, 1]


def test_text_score() -> None:
    assert text_score(-6.0, -1.0, 3, normalise=0.0) == pytest.approx(-7.0)
    assert text_score(-6.0, -1.0, 4) == pytest.approx(-4.0)  # by the root of the length
    assert text_score(-6.0, -1.0, 3, normalise=1.0) == pytest.approx(-3.0)
    assert text_score(0.0, -1.0, 0, normalise=1.0) == pytest.approx(-1.0)


def test_options_as_they_are_typed() -> None:
    typed = parse_options(["share=0.2", "temperature=1"])
    assert check_options("euler-remask", EulerRemask, typed) == EulerRemask(share=0.2, temperature=1.0)
    assert make_decoder("beam", **parse_options(["width=8"])) == Beam(width=8)
    assert make_decoder("confidence", **parse_options(["by=margin"])) == Confidence(by="margin")
    with pytest.raises(UsageError, match="'width' is not NAME=VALUE"):
        parse_options(["width"])
    with pytest.raises(UsageError, match="width is given twice"):
        parse_options(["width=1", "width=2"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("beam", {"width": 0}, "width must be at least 1, got 0"),
        ("beam", {"branches": 0}, "branches must be at least 1, got 0"),
        ("two-stage", {"restart": 1.5}, "restart must be at most 1, got 1.5"),
        ("entropy-bound", {"bound": -1.0}, "bound must be at least 0"),
        ("confidence", {"by": "guess"}, "by must be 'probability' or 'margin', got 'guess'"),
        ("euler", {"steps": 3}, "no option 'steps'"),
        ("beam", {"width": "wide"}, "width must be a whole number, got 'wide'"),
        ("beam", {"width": 2.5}, "width must be a whole number, got 2.5"),
        ("euler", {"temperature": float("nan")}, "temperature must be"),
    ],
)
def test_impossible_options(name: str, options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_decoder(name, **options)


@pytest.mark.parametrize("name", list(DECODERS))
def test_the_name_is_the_registry_s(name: str) -> None:
    assert make_decoder(name).name == name
