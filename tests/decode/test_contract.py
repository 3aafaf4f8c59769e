"""What every decoding strategy keeps to."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from unembed.decode import DECODERS, Decoded, decode, decode_all, make_decoder
from unembed.decode.beginnings import start_from
from unembed.decode.denoising_loop import NOTHING, Step
from unembed.invert_config import InversionOptions
from unembed.model.denoiser import Denoiser

pytestmark = [
    pytest.mark.parametrize("name", list(DECODERS)),
    pytest.mark.parametrize("saving", [{}, {"kv_cache": True, "shortlist": 8}], ids=["exact", "saving"]),
]
UNKNOWN = 39
Saving = dict[str, int]


def run(
    denoiser: Denoiser,
    vectors: Tensor,
    name: str,
    *,
    length: int = 9,
    steps: int | None = 4,
    seed: int = 0,
    trace: bool = False,
    guidance: float = 0.0,
    saving: Saving,
) -> Decoded:
    return decode(
        denoiser,
        vectors,
        torch.full((len(vectors),), length),
        make_decoder(name),
        InversionOptions(steps=steps, guidance=guidance, **saving),
        seeds=torch.arange(len(vectors)) + 1000 * seed,
        trace=trace,
        banned=[UNKNOWN],
    )


@pytest.mark.parametrize("length", [1, 2, 5, 14])
@pytest.mark.parametrize("steps", [None, 1, 2, 3, 8, 20, 100])
def test_no_mask_is_left_and_the_budget_is_kept(
    given: Denoiser, vectors: Tensor, name: str, saving: Saving, length: int, steps: int | None
) -> None:
    out = run(given, vectors, name, length=length, steps=steps, saving=saving)
    assert out.tokens.shape == (len(vectors), length)
    assert (out.tokens >= 0).all()
    assert (out.tokens < UNKNOWN).all()  # neither [MASK] nor the banned entry
    assert (out.forward_passes >= 1).all()
    assert (out.forward_passes <= make_decoder(name).passes(length, steps)).all()
    assert (out.log_prob <= 0).all()
    assert out.score.isfinite().all()


@pytest.mark.parametrize("steps", [None, 1, 4, 20])
def test_what_is_given_stays(
    given: Denoiser, vectors: Tensor, name: str, saving: Saving, steps: int | None
) -> None:
    """Beginnings of different lengths: neither revealed anew nor taken back, and worth no probability."""
    lengths = torch.arange(len(vectors)) % 3 + 7  # [B]
    known = [tuple(range(3, 3 + row % 5)) for row in range(len(vectors))]
    start = start_from(known, lengths, given.config.mask_id)
    decoder, options = make_decoder(name), InversionOptions(steps=steps, **saving)
    seeds = torch.arange(len(vectors))
    settings = {"seeds": seeds, "trace": True, "banned": [UNKNOWN]}
    out = decode_all(given, vectors, lengths, decoder, options, start=start, batch=4, **settings)
    assert out.trace is not None
    for row, beginning in enumerate(known):
        size = len(beginning)
        for frame in out.trace[row]:
            assert tuple(frame[:size].tolist()) == beginning
        assert (out.trace[row][0][size:] == given.config.mask_id).all()
        assert (out.log_prob[row, :size] == 0).all()
        assert (out.tokens[row, : lengths[row]] >= 0).all()
        assert (out.tokens[row, size : lengths[row]] < UNKNOWN).all()


def test_steps_are_the_budget(name: str, saving: Saving) -> None:
    """All but those that say otherwise: left to right is one pass a token."""
    decoder = make_decoder(name)
    extra = {"sequential": 0, "two-stage": 12}.get(name, 0)
    for steps in (16, 20, 24):
        allowed = 12 if name == "sequential" else steps + extra
        assert decoder.passes(12, steps) <= allowed


def test_the_same_seed_gives_the_same_text(
    given: Denoiser, vectors: Tensor, name: str, saving: Saving
) -> None:
    first, second = (run(given, vectors, name, seed=5, saving=saving) for _ in range(2))
    assert torch.equal(first.tokens, second.tokens)
    assert torch.equal(first.log_prob, second.log_prob)


@pytest.mark.parametrize("steps", [None, 3, 16])
def test_a_batch_of_one_equals_a_batch_of_many(
    given: Denoiser, vectors: Tensor, name: str, saving: Saving, steps: int | None
) -> None:
    many = run(given, vectors, name, steps=steps, trace=True, saving=saving)
    assert many.trace is not None
    for row in range(len(vectors)):
        one = decode(
            given,
            vectors[row : row + 1],
            torch.tensor([9]),
            make_decoder(name),
            InversionOptions(steps=steps, **saving),
            seeds=torch.tensor([row]),
            trace=True,
            banned=[UNKNOWN],
        )
        assert one.trace is not None
        assert torch.equal(one.tokens[0], many.tokens[row])
        assert torch.allclose(one.log_prob[0], many.log_prob[row], atol=1e-5)
        assert one.forward_passes[0] == many.forward_passes[row]
        assert torch.equal(torch.stack(one.trace[0]), torch.stack(many.trace[row]))


@pytest.mark.parametrize("steps", [None, 3, 16])
def test_the_trace_replays_to_the_result(
    given: Denoiser, vectors: Tensor, name: str, saving: Saving, steps: int | None
) -> None:
    out = run(given, vectors, name, steps=steps, trace=True, saving=saving)
    assert out.trace is not None
    mask = given.config.mask_id
    for row, frames in enumerate(out.trace):
        assert (frames[0] == mask).all()
        assert torch.equal(frames[-1], out.tokens[row])
        for old, new in pairwise(frames):
            moved = old != new
            assert moved.any()
            # A token becomes another only by way of a mask: every step reveals or takes back.
            assert ((old[moved] == mask) | (new[moved] == mask)).all()


def test_no_trace_unless_asked(given: Denoiser, vectors: Tensor, name: str, saving: Saving) -> None:
    assert run(given, vectors, name, saving=saving).trace is None


def test_fixed_length_models(fixed: Denoiser, vectors: Tensor, name: str, saving: Saving) -> None:
    out = run(
        fixed, vectors, name, length=3, saving=saving
    )  # what the caller says about lengths does not matter
    assert out.tokens.shape == (len(vectors), fixed.config.max_length)
    assert (out.tokens < UNKNOWN).all()


def test_guidance_counts_twice(given: Denoiser, vectors: Tensor, name: str, saving: Saving) -> None:
    plain, guided = (
        run(given, vectors, name, saving=saving),
        run(given, vectors, name, guidance=1.5, saving=saving),
    )
    assert (guided.tokens < UNKNOWN).all()
    assert guided.score.isfinite().all()
    if name in ("sequential", "confidence", "beam"):  # as many steps, whatever the tokens
        assert torch.equal(guided.forward_passes, 2 * plain.forward_passes)


def test_any_lengths_in_their_order(given: Denoiser, vectors: Tensor, name: str, saving: Saving) -> None:
    lengths = torch.tensor([3, 7, 1, 7, 14, 3, 2, 7, 9])
    seeds = torch.arange(9)
    options, more = InversionOptions(steps=4, **saving), {"banned": [UNKNOWN], "trace": True}
    out = decode_all(given, vectors, lengths, make_decoder(name), options, batch=2, seeds=seeds, **more)
    assert torch.equal((out.tokens >= 0).sum(dim=1), lengths)
    for row, length in enumerate(lengths.tolist()):
        one = decode(
            given, vectors[row : row + 1], lengths[row : row + 1], make_decoder(name), options,
            seeds=seeds[row : row + 1], **more,
        )  # fmt: skip
        assert torch.equal(out.tokens[row, :length], one.tokens[0])
        assert (out.tokens[row, length:] == -1).all()
        assert out.score[row] == pytest.approx(float(one.score[0]), abs=1e-4)
        assert out.trace is not None
        assert torch.equal(out.trace[row][-1], one.tokens[0])


def test_nothing_in_nothing_out(given: Denoiser, vectors: Tensor, name: str, saving: Saving) -> None:
    out = decode_all(
        given, vectors[:0], torch.zeros(0).long(), make_decoder(name), InversionOptions(**saving)
    )
    assert len(out.tokens) == len(out.score) == 0


def test_a_watcher_sees_every_step_and_may_give_up(
    given: Denoiser, vectors: Tensor, name: str, saving: Saving
) -> None:
    lengths = torch.arange(len(vectors)) % 3 + 4
    seeds = torch.arange(len(vectors))
    seen: dict[int, list[Tensor]] = {}

    def watch(step: Step) -> Tensor:
        for row, tokens, length in zip(step.rows.tolist(), step.tokens, step.lengths.tolist(), strict=True):
            seen.setdefault(row, []).append(tokens[:length])
        return (step.rows != 1) | (step.number < 2)

    decoder = make_decoder(name)
    plain = decode_all(given, vectors, lengths, decoder, InversionOptions(**saving), seeds=seeds)
    watched = decode_all(
        given, vectors, lengths, decoder, InversionOptions(**saving), seeds=seeds, watch=watch
    )
    for row, length in enumerate(lengths.tolist()):
        assert (seen[row][0] == given.config.mask_id).all()
        if row == 1:
            assert (watched.tokens[row] == NOTHING).all()
            continue
        assert watched.tokens[row].equal(plain.tokens[row])
        assert seen[row][-1].equal(plain.tokens[row, :length])
    assert watched.forward_passes[1] < plain.forward_passes[1]
