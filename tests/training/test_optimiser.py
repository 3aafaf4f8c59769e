import pytest
from hypothesis import given
from hypothesis import strategies as st

from unembed.training.config import TrainConfig
from unembed.training.dataset import open_corpus
from unembed.training.fresh_model import build
from unembed.training.optimiser import make_optimiser, rate_factor, set_rate


def config(**change):
    return TrainConfig(data=("x",), output="y", **({"steps": 1000, "warmup": 10} | change))


@given(st.integers(0, 999), st.sampled_from(["cosine", "linear"]), st.floats(0, 0.9))
def test_the_rate_rises_holds_and_falls_to_zero(step, decay, hold):
    settings = config(decay=decay, hold=hold)
    factor = rate_factor(settings, step, step / 1000)
    assert 0 <= factor <= 1
    if step >= 10:
        assert factor >= rate_factor(settings, step + 1, (step + 1) / 1000)
    else:
        assert factor <= (step + 1) / 10
    assert rate_factor(settings, step, 1.0) == pytest.approx(0, abs=1e-12)


def test_named_points_of_the_schedule():
    linear = config(decay="linear", hold=0.3)
    assert rate_factor(linear, 0, 0.0) == pytest.approx(0.1)
    assert rate_factor(linear, 9, 0.009) == 1.0
    assert rate_factor(linear, 300, 0.3) == 1.0
    assert rate_factor(linear, 650, 0.65) == pytest.approx(0.5)
    cosine = config()
    assert rate_factor(cosine, 250, 0.25) == pytest.approx(0.5 + 0.5 * 2**-0.5)
    assert rate_factor(cosine, 500, 0.5) == pytest.approx(0.5)
    assert rate_factor(config(warmup=0), 0, 0.0) == 1.0


@pytest.fixture
def grouped(toy_config):
    def make(**change):
        settings = toy_config.model_copy(update=change)
        denoiser = build(settings, open_corpus(settings)).checkpoint.denoiser
        optimiser = make_optimiser(denoiser, settings)
        names = {id(p): name for name, p in denoiser.named_parameters()}
        of = {names[id(p)]: group for group in optimiser.param_groups for p in group["params"]}
        assert of.keys() == set(names.values())  # every weight, once
        return optimiser, settings, of

    return make


def test_only_matrices_decay(grouped):
    _, _, of = grouped(weight_decay=0.25)
    for name in ("blocks.0.attention.qkv.weight", "lexical.down.weight", "condition.project_in.weight"):
        assert of[name]["weight_decay"] == 0.25
    for name in (
        "token.weight",
        "position.weight",
        "condition.length.weight",
        "output_bias",
        "blocks.0.attention.qkv.bias",
        "blocks.0.attention_norm.weight",
        "condition.null",
        "words_left.scale",
    ):
        assert of[name]["weight_decay"] == 0.0


def test_from_scratch_everything_is_new(grouped):
    optimiser, settings, of = grouped(new_rate=4.0)
    assert {group["lr"] for group in of.values()} == {4 * settings.learning_rate}
    set_rate(optimiser, settings, 0.5)
    assert {group["lr"] for group in of.values()} == {2 * settings.learning_rate}


def test_pretrained_weights_learn_slower_than_new_ones(toy_config):
    """The groups depend on names alone, so no real backbone is needed here."""
    settings = toy_config.model_copy(update={"new_rate": 4.0})
    denoiser = build(settings, open_corpus(settings)).checkpoint.denoiser
    optimiser = make_optimiser(denoiser, settings.model_copy(update={"backbone": "minilm"}))
    names = {id(p): name for name, p in denoiser.named_parameters()}
    rate = {names[id(p)]: group["lr"] for group in optimiser.param_groups for p in group["params"]}
    base = settings.learning_rate
    for name in ("token.weight", "position.weight", "input_norm.weight", "blocks.1.feed_forward.up.bias"):
        assert rate[name] == base
    for name in (
        "condition.vector_modulation.weight",
        "lexical.up.weight",
        "output_bias",
        "memory_score.bias",
    ):
        assert rate[name] == 4 * base
    assert optimiser.defaults["betas"] == (0.9, settings.beta2)


def test_the_condition_has_a_rate_of_its_own(grouped):
    optimiser, settings, of = grouped(new_rate=4.0, condition_rate=0.25)
    for name, group in of.items():
        factor = 0.25 if name.startswith("condition.") else 4.0
        assert group["lr"] == factor * settings.learning_rate, name
    set_rate(optimiser, settings, 0.5)
    assert of["condition.vector_modulation.weight"]["lr"] == pytest.approx(0.125 * settings.learning_rate)
    assert of["condition.length.weight"]["weight_decay"] == 0.0
