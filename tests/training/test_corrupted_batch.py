"""From indices to a step: corruption, weights, candidates, and each process's share of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unembed.diffusion.schedule import SCHEDULES
from unembed.model.fast.candidate_softmax import CandidateDraw
from unembed.model.wiener import WienerFilter
from unembed.training.batch_sampler import BatchSampler
from unembed.training.corrupted_batch import BatchMaker, Rank, mix_seed
from unembed.training.dataset import open_corpus
from unembed.training.fresh_model import build


@pytest.fixture(scope="module")
def made(toy_data, tmp_path_factory):
    """A function from settings to (BatchMaker, plan, vocabulary)."""
    from unembed.training.config import TrainConfig

    def make(**settings):
        base = {"data": (toy_data,), "output": tmp_path_factory.mktemp("x"), "max_length": 16, "batch": 32}
        small = {"layers": 1, "hidden": 16, "heads": 2, "ffn": 16, "length": "given", "groups": 4}
        config = TrainConfig(**(base | small | settings))
        corpus = open_corpus(config)
        checkpoint, counts, _ = build(config, corpus)
        wiener = WienerFilter.of(checkpoint.denoiser.standardise)
        schedule = SCHEDULES[config.noise]
        maker = BatchMaker(corpus.train, checkpoint.vocabulary, schedule, config, counts, wiener)
        plan = BatchSampler(
            corpus.train.lengths,
            batch=config.batch,
            groups=config.groups,
            seed=config.seed,
            mixed=checkpoint.vocabulary.fixed_length,
        )
        return maker, plan, checkpoint.vocabulary, corpus.train, counts

    return make


def tensors(step):
    """Everything in a step, flat."""
    out = []
    for part in (*step.groups, step.heads, step.candidates):
        out += part if isinstance(part, tuple) else vars(part).values()
    return out


def test_a_step_is_the_same_whenever_it_is_asked(made):
    maker, plan, *_ = made(candidates=10, head_batch=8, condition_dropout=0.3)
    one = maker(7, plan[7])
    maker(8, plan[8])
    for a, b in zip(tensors(one), tensors(maker(7, plan[7])), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.groups[0].masked, maker(8, plan[7]).groups[0].masked)


@pytest.mark.parametrize("noise", SCHEDULES)
def test_bound_weights_are_each_samples_own(made, noise):
    """scale = weight(t) P(any mask) / length / batch: the equation, sample by sample."""
    maker, plan, *_ = made(weighting="bound", noise=noise)
    step = maker(3, plan[3])
    samples = sum(len(group.x0) for group in step.groups)
    schedule = SCHEDULES[noise]
    for group in step.groups:
        length = group.x0.shape[1]
        rate = 1 - schedule.alpha(group.t.double())
        expected = schedule.weight(group.t.double()) * (1 - (1 - rate) ** length) / length / samples
        torch.testing.assert_close(group.scale.double(), expected, rtol=1e-4, atol=1e-9)
        assert len(group.scale.unique()) == len(group.scale)


def test_token_weights_are_one_over_the_masked_tokens_of_the_batch(made):
    maker, plan, *_ = made(weighting="token")
    step = maker(3, plan[3])
    masked = sum(int(group.masked.sum()) for group in step.groups)
    assert all(torch.all(group.scale == torch.tensor(1 / masked)) for group in step.groups)


@pytest.mark.parametrize("count", [2, 3])
def test_the_processes_shares_make_up_the_joint_step(made, count):
    maker, plan, *_ = made(weighting="bound", head_batch=10, candidates=10, condition_dropout=0.3)
    whole = maker(5, plan[5])
    shares = [maker(5, plan[5], Rank(index, count)) for index in range(count)]
    for place, group in enumerate(whole.groups):
        for name, tensor in vars(group).items():
            parts = [getattr(share.groups[place], name) for share in shares]
            joined = torch.empty_like(tensor)
            for index, part in enumerate(parts):
                joined[index::count] = part
            factor = count if name in ("scale", "share") else 1  # the gradients will be averaged
            torch.testing.assert_close(joined, tensor * factor if factor > 1 else tensor)
    assert sum(len(share.heads.vectors) for share in shares) == 10
    for share in shares:
        assert torch.equal(share.candidates.entries, whole.candidates.entries)


def test_shares_of_a_mean_add_up_to_one(made):
    maker, plan, *_ = made(head_batch=10)
    step = maker(5, plan[5])
    assert float(sum(group.share.sum() for group in step.groups)) == pytest.approx(1)
    assert float(step.heads.share.sum()) == pytest.approx(1)


def test_candidates_hold_every_token_of_the_step(made):
    maker, plan, vocabulary, *_ = made(candidates=5, head_batch=8)
    for number in range(10):
        step = maker(number, plan[number])
        entries, place = step.candidates
        used = torch.cat(
            [*(group.x0.flatten() for group in step.groups), step.heads.entries[step.heads.real]]
        )
        assert torch.isin(used, entries).all()
        assert torch.equal(entries[place[used]], used)
        assert place[len(vocabulary)] == len(entries)  # [MASK] comes after them


@given(
    counts=st.lists(st.integers(0, 50), min_size=3, max_size=30),
    size=st.integers(1, 40),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_candidates_are_rising_and_found_by_their_place(counts, size, seed, data):
    present = torch.tensor(data.draw(st.lists(st.integers(0, len(counts) - 1), min_size=1)))
    draw = CandidateDraw(torch.tensor(counts, dtype=torch.float32), size, 0.6)
    entries, place = draw(present, torch.Generator().manual_seed(seed))
    assert entries.tolist() == sorted(set(entries.tolist()))
    assert set(present.tolist()) <= set(entries.tolist())
    assert len(entries) <= len(set(present.tolist())) + size
    assert place[entries].tolist() == list(range(len(entries)))


@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
def test_candidates_are_drawn_by_frequency_to_the_power(power):
    counts = torch.tensor([1.0, 10.0, 100.0, 0.0])
    draw = CandidateDraw(counts, 1, power)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.zeros(4)
    for _ in range(4000):
        entries, _ = draw(torch.tensor([3]), generator)
        drawn[entries[0] if len(entries) > 1 else 3] += 1
    weight = counts.clamp(min=1.0) ** power
    torch.testing.assert_close(drawn / 4000, weight / weight.sum(), atol=0.03, rtol=0)


def test_a_fixed_length_is_closed_and_filled(made):
    maker, plan, vocabulary, texts, _ = made(length="fixed", groups=1, head_batch=6, lexical_hidden=8)
    chosen = plan[0]
    step = maker(0, chosen)
    group = step.groups[0]
    assert group.x0.shape == (32, 16)
    for row, index in enumerate(chosen[0]):
        tokens = texts.tokens(np.array([index]))[0].tolist()
        assert vocabulary.decode(group.x0[row].tolist()) == tokens
        assert group.x0[row, len(tokens)] == vocabulary.end
    # Padding is masked and predicted like everything else, in the blocks and in the heads.
    assert (group.masked & (group.x0 == vocabulary.pad)).any()
    assert step.heads.entries.shape == (6, 16)
    assert step.heads.real.all()


def test_conditions_are_dropped_at_their_rate(made):
    maker, plan, *_ = made(condition_dropout=0.25)
    dropped = torch.cat(
        [group.dropped for number in range(40) for group in maker(number, plan[number]).groups]
    )
    assert abs(float(dropped.float().mean()) - 0.25) < 0.05


def test_counts_know_the_unknown_the_end_and_padding(made):
    _, _, vocabulary, texts, counts = made(length="fixed", min_count=400)
    tokens = texts.tokens(np.arange(len(texts)))
    by_token = np.bincount(tokens[tokens >= 0])
    assert counts[vocabulary.unknown] == by_token[by_token < 400].sum() > 0
    assert counts[vocabulary.end] == (texts.lengths < 16).sum()
    assert counts[vocabulary.pad] == (texts.lengths < 15).sum()
    assert counts[:-3].tolist() == by_token[vocabulary.token_ids[:-3]].tolist()


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_mixed_seeds_fit_and_differ(a, b):
    assert 0 <= mix_seed(a, b) < 2**63
    assert mix_seed(a, b) == mix_seed(a, b)
    assert mix_seed(a, b) != mix_seed(a, b + 1)
    assert mix_seed(a, b) != mix_seed(a + 1, b)


def test_heads_draw_texts_as_often_as_epochs_take_them(made, monkeypatch):
    texts = made()[3]
    often = np.where(np.arange(len(texts)) < 100, 9.0, 0.1)
    monkeypatch.setattr(type(texts), "repeats", lambda self, alpha: often)
    maker = made(head_batch=64)[0]
    drawn = maker._any_texts(20_000, torch.Generator().manual_seed(0))
    assert drawn.max() < len(texts)
    assert (drawn < 100).mean() == pytest.approx(often[:100].sum() / often.sum(), abs=0.02)


def test_a_share_of_the_vectors_is_blurred_and_the_rest_exact(made):
    maker, plan, _, texts, _ = made(head_batch=400, vector_noise=0.5)
    heads = maker(5, plan[5]).heads.vectors
    every = texts.vectors(np.arange(len(texts)))
    known = {row.tobytes() for row in every}
    blurred = torch.tensor([row.numpy().tobytes() not in known for row in heads])
    assert 0.4 < blurred.float().mean() < 0.6
    # A guess behind noise is nearer to the mean than vectors are.
    far = (heads - torch.from_numpy(every).mean(dim=0)).norm(dim=1)
    assert far[blurred].mean() < 0.95 * far[~blurred].mean()


def test_without_noise_no_vector_is_touched(made):
    maker, plan, _, texts, _ = made(vector_noise=0.0)
    vectors = torch.cat([group.vectors for group in maker(5, plan[5]).groups])
    assert torch.equal(vectors, torch.from_numpy(texts.vectors(np.concatenate(plan[5]))))


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_process_reads_the_vectors_of_its_own_rows_only(made, noise, monkeypatch):
    maker, plan, _, texts, _ = made(head_batch=9, vector_noise=noise)
    alone = maker(5, plan[5])
    read = []
    original = texts.vectors

    def vectors(indices):
        read.append(len(indices))
        return original(indices)

    monkeypatch.setattr(texts, "vectors", vectors)
    shares = [maker(5, plan[5], Rank(index, 3)) for index in range(3)]
    rows = sum(map(len, plan[5])) + 9
    assert sum(read) == rows  # all processes together: each row once
    for number, group in enumerate(alone.groups):
        for index, share in enumerate(shares):
            torch.testing.assert_close(
                share.groups[number].vectors, group.vectors[index::3], atol=1e-5, rtol=1e-5
            )
