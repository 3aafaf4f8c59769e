"""The step as it is computed (only where it must be, all groups at once) against the plain form."""

import pytest
import torch
import torch.nn.functional as F

from unembed.diffusion.schedule import schedule_named
from unembed.model.fast.tied_gradient import TiedGradient
from unembed.training.batch_sampler import BatchSampler
from unembed.training.corrupted_batch import BatchMaker, CorruptedBatch
from unembed.training.dataset import open_corpus
from unembed.training.fresh_model import build
from unembed.training.training_objective import Objective


@pytest.fixture
def setting(toy_config):
    """A function from settings to (objective, step), the weights shaken out of their zero start."""

    def make(**change):
        config = toy_config.model_copy(update={"dropout": 0.0} | change)
        corpus = open_corpus(config)
        checkpoint, counts, _ = build(config, corpus)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for name, parameter in checkpoint.denoiser.named_parameters():
                if not name.endswith("norm.weight"):
                    parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
        schedule = schedule_named(config.noise)
        fixed = checkpoint.vocabulary.fixed_length
        maker = BatchMaker(corpus.train, checkpoint.vocabulary, schedule, config, counts)
        plan = BatchSampler(
            corpus.train.lengths, batch=config.batch, groups=config.groups, seed=0, mixed=fixed
        )
        return Objective(checkpoint.denoiser, config), maker(3, plan[3])

    return make


def plain_denoising(denoiser, step, *, dropping):
    """Logits at every position over the whole vocabulary, group by group; masked afterwards."""
    total = torch.zeros(())
    for group in step.groups:
        xt = torch.where(group.masked, denoiser.config.mask_id, group.x0)
        prepared = denoiser.prepare(group.vectors, group.lengths, dropped=group.dropped if dropping else None)
        h = denoiser.hidden(xt, group.t, prepared)  # [B, L, D]
        rows = torch.arange(len(xt)).repeat_interleave(xt.shape[1])
        logits = denoiser.logits(h.flatten(0, 1), rows, prepared, xt=xt)  # [B * L, V]
        if step.candidates is not None:
            absent = torch.ones(logits.shape[1], dtype=torch.bool)
            absent[step.candidates.entries] = False
            logits = logits.masked_fill(absent, -torch.inf)
        entropy = F.cross_entropy(logits, group.x0.flatten(), reduction="none").view_as(xt)
        entropy = torch.where(group.masked, entropy, 0.0)
        total = total + (entropy.sum(dim=1) * group.scale).sum()
    return total


PAPER = {"length": "fixed", "lexical_hidden": 0, "memory": 0, "candidates": 0, "head_batch": 0, "groups": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"memory": 0},
        {"memory": 0, "candidates": 0},
        {"candidates": 0},
        {"head_batch": 0, "memory": 0, "weighting": "token"},
        {"head_batch": 0, "condition_dropout": 0.0, "memory": 0, "candidates": 0},
        PAPER,
        PAPER | {"groups": 4},
        PAPER | {"length": "given", "groups": 4},
        PAPER | {"head_transform": True, "noise": "exponential", "condition_dropout": 0.0},
    ],
)
def test_loss_and_gradients_are_those_of_the_plain_form(setting, change):
    objective, step = setting(**change)
    denoiser = objective.denoiser
    dropping = change.get("condition_dropout", 0.1) > 0
    loss = objective(step)["denoising"]
    loss.backward()
    found = {name: p.grad.clone() for name, p in denoiser.named_parameters() if p.grad is not None}
    denoiser.zero_grad(set_to_none=True)
    expected = plain_denoising(denoiser, step, dropping=dropping)
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-6)
    for name, parameter in denoiser.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(found[name], parameter.grad, atol=2e-5, rtol=1e-3, msg=name)


def test_the_mask_row_is_never_predicted(setting):
    """In the fused form [MASK] has a row in the softmax's matrix; it must not have a probability."""
    objective, step = setting(**PAPER)
    with torch.no_grad():
        before = objective(step)["denoising"]
        h = torch.randn(5, 64)
        tie = TiedGradient(objective.denoiser.token.weight)
        entropy = objective._tied_cross_entropy(h, tie, torch.arange(5))
        objective.denoiser.token.weight[-1] += 1000.0 * torch.sign(h.sum(dim=0))
        torch.testing.assert_close(objective._tied_cross_entropy(h, tie, torch.arange(5)), entropy)
    assert before.isfinite()


def test_every_loss_takes_part_with_its_weight(setting):
    objective, step = setting(lexical_weight=0.25, length_weight=0.75)
    losses = objective(step)
    assert losses.keys() == {"denoising", "lexical", "length", "loss"}
    expected = losses["denoising"] + 0.25 * losses["lexical"] + 0.75 * losses["length"]
    torch.testing.assert_close(losses["loss"], expected)


def test_a_paper_model_has_the_denoising_loss_alone(setting):
    objective, step = setting(**PAPER)
    assert objective(step).keys() == {"denoising", "loss"}


@pytest.mark.parametrize("candidates", [0, 20])
def test_the_lexical_loss_asks_of_every_word_whether_it_is_there(setting, candidates):
    objective, step = setting(candidates=candidates)
    denoiser, heads = objective.denoiser, step.heads
    logits = denoiser.lexical(denoiser.standardise(heads.vectors)).detach()  # [H, V]
    asked = range(logits.shape[1]) if step.candidates is None else step.candidates.entries.tolist()
    expected = 0.0
    for row in range(len(logits)):
        words = set(heads.entries[row][heads.real[row]].tolist())
        loss = sum(
            float(F.softplus(-logits[row, word] if word in words else logits[row, word])) for word in asked
        )
        expected += loss / int(heads.lengths[row]) / len(logits)
    assert float(objective(step)["lexical"].detach()) == pytest.approx(expected, rel=1e-4)


def test_without_a_batch_of_their_own_the_heads_learn_from_the_groups(setting):
    objective, step = setting(head_batch=0, condition_dropout=0.0)
    losses = objective(step)
    denoiser = objective.denoiser
    guesses = [
        F.cross_entropy(denoiser.length_logits(g.vectors), g.lengths, reduction="sum") for g in step.groups
    ]
    samples = sum(len(group.x0) for group in step.groups)
    torch.testing.assert_close(losses["length"], sum(guesses) / samples)
    losses["lexical"].backward()
    assert denoiser.lexical.up.weight.grad.abs().max() > 0


def test_the_blocks_errors_do_not_bend_the_lexical_head(setting):
    objective, step = setting()
    objective(step)["denoising"].backward()
    assert objective.denoiser.lexical.up.weight.grad is None
    assert objective.denoiser.words_left.used.grad.abs().max() > 0


def test_an_empty_share_is_no_loss(setting):
    """With more processes than samples in a group, some have none: nothing, not NaN."""
    objective, step = setting(head_batch=0)
    empty = [
        type(group)(**{name: tensor[:0] for name, tensor in vars(group).items()}) for group in step.groups
    ]
    losses = objective(CorruptedBatch(empty, None, step.candidates))
    losses["loss"].backward()
    assert all(float(value.detach()) == 0.0 for value in losses.values())


def test_heads_that_learn_alone_learn_the_same_and_touch_no_block(setting):
    objective, step = setting(denoising_weight=0.0)
    alone = objective(step)
    alone["loss"].backward()
    learnt = {name for name, weight in objective.named_parameters() if weight.grad is not None}
    assert {name.split(".")[1] for name in learnt} == {"lexical", "length_head"}
    together = setting()[0](step)
    assert set(alone) == set(together) - {"denoising"}
    assert alone["lexical"].item() == pytest.approx(together["lexical"].item())
    assert alone["length"].item() == pytest.approx(together["length"].item())


def test_heads_that_learn_alone_need_vectors(toy_config):
    settings = toy_config.model_dump() | {"denoising_weight": 0.0, "head_batch": 0}
    with pytest.raises(ValueError, match="head_batch"):
        type(toy_config)(**settings)


@pytest.mark.parametrize("candidates", [0, 20])
def test_wrong_words_change_the_context_and_nothing_that_is_asked(setting, candidates):
    objective, step = setting(wrong_words=1.0, candidates=candidates)
    seen = []
    hidden = objective.denoiser.hidden
    objective.denoiser.hidden = lambda xt, *rest, **more: seen.append(xt) or hidden(xt, *rest, **more)
    torch.manual_seed(0)
    first = objective(step)["denoising"].item()
    torch.manual_seed(0)
    assert objective(step)["denoising"].item() == first, "the same seed gives the same mistakes"
    changed = 0
    for xt, group in zip(seen, step.groups, strict=False):
        assert torch.equal(xt == objective.denoiser.config.mask_id, group.masked)
        assert step.candidates is None or torch.isin(xt[~group.masked], step.candidates.entries).all()
        changed += int((xt != group.x0)[~group.masked].sum())
    given = sum(int((~group.masked).sum()) for group in step.groups)
    assert 0 < changed < 0.3 * given


def test_a_head_without_weight_is_not_computed(setting):
    """Lengths can be learnt alone: nothing of the words or the blocks gets a gradient."""
    objective, step = setting(denoising_weight=0.0, lexical_weight=0.0, head_batch=8)
    losses = objective(step)
    assert set(losses) == {"length", "loss"}
    losses["loss"].backward()
    touched = {
        name.split(".")[0] for name, one in objective.denoiser.named_parameters() if one.grad is not None
    }
    assert touched == {"length_head"}
