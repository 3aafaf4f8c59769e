import pytest
import torch

from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.training.ema import Average


@pytest.fixture
def denoiser():
    config = DenoiserConfig(vector_dim=2, vocabulary=4, layers=1, block=BlockConfig(hidden=4, heads=2, ffn=4))
    return Denoiser(config)


@pytest.mark.parametrize(("step", "decay"), [(0, 0.1), (8, 0.5), (90, 0.9), (891, 0.9), (10**6, 0.9)])
def test_the_decay_warms_up_to_its_value(denoiser, step, decay):
    expected = min(0.9, (1 + step) / (10 + step))
    assert expected == pytest.approx(decay, abs=0.011)
    average = Average(denoiser, 0.9)
    before = average.network.output_bias.clone()
    with torch.no_grad():
        denoiser.output_bias.fill_(1.0)
    average.update(denoiser, step)
    torch.testing.assert_close(average.network.output_bias, expected * before + (1 - expected))


def test_the_average_is_a_model_of_its_own(denoiser):
    average = Average(denoiser, 0.0)
    assert not average.network.training
    assert not any(p.requires_grad for p in average.network.parameters())
    before = average.network.token.weight.clone()
    with torch.no_grad():
        denoiser.token.weight.add_(1.0)
    assert torch.equal(average.network.token.weight, before)
    average.update(denoiser, 10**6)  # without decay it is the newest weights
    assert torch.equal(average.network.token.weight, denoiser.token.weight)
