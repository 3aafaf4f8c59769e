"""Which samples make up which step: a pure function of seed and step."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unembed.training.batch_sampler import BatchSampler

lengths = st.lists(st.integers(1, 6), min_size=1, max_size=80).map(np.array)
plans = st.tuples(lengths, st.integers(1, 16), st.integers(1, 4), st.integers(0, 99)).filter(
    lambda p: p[2] <= p[1]
)


def plan_of(case, **change):
    lengths, batch, groups, seed = case
    return BatchSampler(lengths, **({"batch": batch, "groups": groups, "seed": seed} | change))


@given(case=plans, epoch=st.integers(0, 2))
def test_every_sample_once_an_epoch(case, epoch):
    plan = plan_of(case)
    first = epoch * plan.steps_an_epoch
    seen = [group for step in range(first, first + plan.steps_an_epoch) for group in plan[step]]
    assert sorted(np.concatenate(seen).tolist()) == list(range(len(case[0])))


@given(case=plans, step=st.integers(0, 200))
def test_one_length_a_group_and_no_more_than_the_batch(case, step):
    lengths, batch, groups, _ = case
    chosen = plan_of(case)[step]
    assert 1 <= len(chosen) <= groups
    for group in chosen:
        assert 1 <= len(group) <= batch // groups
        assert len(set(lengths[group])) == 1


@given(case=plans, steps=st.lists(st.integers(0, 60), min_size=1, max_size=5))
def test_a_step_does_not_depend_on_what_was_asked_before(case, steps):
    used = plan_of(case)
    for step in steps:
        for mine, fresh in zip(used[step], plan_of(case)[step], strict=True):
            assert mine.tolist() == fresh.tolist()


@given(case=plans)
def test_a_fixed_length_mixes_all_lengths_in_full_batches(case):
    plan = plan_of(case, mixed=True)
    sizes = [len(group) for step in range(plan.steps_an_epoch) for group in plan[step]]
    assert sorted(sizes)[1:] == [case[1] // case[2]] * (len(sizes) - 1)


def test_epochs_and_seeds_differ():
    lengths = np.full(500, 4)
    plan = BatchSampler(lengths, batch=50, groups=1, seed=0)
    assert plan[0][0].tolist() != plan[plan.steps_an_epoch][0].tolist()
    assert plan[0][0].tolist() != BatchSampler(lengths, batch=50, groups=1, seed=1)[0][0].tolist()


def test_lengths_are_mixed_over_the_epoch():
    """Groups of one length must not come in blocks: the model would forget the others."""
    lengths = np.repeat([3, 9], 500)
    plan = BatchSampler(lengths, batch=10, groups=1, seed=0)
    order = [lengths[plan[step][0][0]] for step in range(plan.steps_an_epoch)]
    changes = sum(a != b for a, b in pairwise(order))
    assert changes > 25


@given(case=plans, data=st.data(), epoch=st.integers(0, 2))
def test_repeats_are_kept_in_every_epoch(case, data, epoch):
    lengths = case[0]
    often = data.draw(st.lists(st.sampled_from([0.25, 0.6, 1.0, 2.5]), min_size=3, max_size=3))
    source = np.arange(len(lengths)) % 3
    repeats = np.array(often)[source]
    # One text of everything, so that there is an epoch at all.
    repeats[0] = 1.0
    plan = plan_of(case, repeats=repeats)
    first = epoch * plan.steps_an_epoch
    groups = [group for step in range(first, first + plan.steps_an_epoch) for group in plan[step]]
    seen = np.bincount(np.concatenate(groups), minlength=len(lengths))
    assert np.all(seen >= np.floor(repeats))
    assert np.all(seen <= np.ceil(repeats))
    for value in np.unique(repeats):
        alike = repeats == value
        assert abs(seen[alike].sum() - value * alike.sum()) <= 1, "rounded once, not length by length"
    assert all(len(set(lengths[group])) == 1 for group in groups)
