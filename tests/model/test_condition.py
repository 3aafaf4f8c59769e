import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unembed.model.condition import Standardise, time_features
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser


def test_standardised_vectors_are_centred_and_round():
    generator = torch.Generator().manual_seed(0)
    stretch = torch.randn(6, 6, generator=generator)
    vectors = torch.randn(5000, 6, generator=generator) @ stretch + 3.0
    module = Standardise(6)
    module.fit(vectors)
    out = module(vectors)
    torch.testing.assert_close(out.mean(dim=0), torch.zeros(6), atol=1e-3, rtol=0)
    torch.testing.assert_close(out.T @ out / 4999, torch.eye(6), atol=1e-2, rtol=0)


def test_a_direction_without_variance_is_not_blown_up():
    vectors = torch.randn(500, 4, generator=torch.Generator().manual_seed(0))
    vectors[:, 2] = 1e-9 * vectors[:, 2]
    module = Standardise(4)
    module.fit(vectors)
    assert module.whiten.abs().max() < 200
    assert module(vectors)[:, 2].abs().max() < 1e-3


def test_unfitted_it_gives_unit_vectors_unit_variance():
    unit = torch.nn.functional.normalize(torch.randn(2000, 64, generator=torch.Generator().manual_seed(0)))
    assert abs(float(Standardise(64)(unit).std()) - 1) < 0.02


def test_modulation_starts_at_zero_and_the_blocks_plain():
    config = DenoiserConfig(
        vector_dim=8, vocabulary=20, layers=2, length="given", block=BlockConfig(hidden=16, heads=2, ffn=32)
    )
    denoiser = Denoiser(config)
    prepared = denoiser.prepare(torch.randn(3, 8), torch.tensor([2, 3, 4]))
    assert prepared.modulation.shape == (3, 2, 4, 16)
    assert not denoiser.condition.at_time(prepared.modulation, torch.rand(3)).any()


def test_times_are_told_apart():
    features = time_features(torch.linspace(0, 1, 101))
    gaps = torch.cdist(features, features) + 10 * torch.eye(101)
    assert gaps.min() > 0.1


@settings(max_examples=20)
@given(st.floats(0.1, 5), st.floats(0, 1e4), st.booleans())
def test_modulation_never_exceeds_its_limit(limit, size, timed):
    config = DenoiserConfig(
        vector_dim=8, vocabulary=20, layers=2, length="given", time_input=timed, modulation_limit=limit,
        block=BlockConfig(hidden=16, heads=2, ffn=32),
    )  # fmt: skip
    denoiser = Denoiser(config)
    with torch.no_grad():
        denoiser.condition.vector_modulation.weight.normal_(std=size)
        prepared = denoiser.prepare(torch.randn(3, 8), torch.tensor([2, 3, 4]))
    assert float(prepared.modulation.abs().max()) <= limit * (1 + 1e-6)


def test_a_small_modulation_is_as_good_as_unbounded():
    block = BlockConfig(hidden=16, heads=2, ffn=32)
    free, bound = (
        Denoiser(DenoiserConfig(vector_dim=8, vocabulary=20, layers=1, block=block, modulation_limit=limit))
        for limit in (0.0, 2.0)
    )
    with torch.no_grad():
        free.condition.vector_modulation.weight.normal_(std=1e-3)
        bound.load_state_dict(free.state_dict())
        vectors, lengths = torch.randn(3, 8), torch.tensor([2, 3, 4])
        expected, found = (one.prepare(vectors, lengths).modulation for one in (free, bound))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-3)
