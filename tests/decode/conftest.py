"""Toy denoisers with weights that disagree with each other: random, but far from uniform."""

from __future__ import annotations

import pytest
import torch

from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser

VOCABULARY, DIMENSION, LONGEST = 40, 12, 14


def make_denoiser(length: str = "given", seed: int = 0, **more: object) -> Denoiser:
    """A tiny denoiser in double precision, so that the batch's size does not show in the last bits."""
    config = DenoiserConfig(
        vector_dim=DIMENSION,
        vocabulary=VOCABULARY,
        max_length=LONGEST,
        layers=2,
        block=BlockConfig(hidden=16, heads=2, ffn=32),
        length=length,
        **more,
    )
    generator = torch.Generator().manual_seed(seed)
    denoiser = Denoiser(config).double().eval()
    with torch.no_grad():
        for parameter in denoiser.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.3 * noise)
    return denoiser


@pytest.fixture(scope="session")
def given() -> Denoiser:
    return make_denoiser("given", lexical_hidden=8, memory=4)


@pytest.fixture(scope="session")
def fixed() -> Denoiser:
    return make_denoiser("fixed")


@pytest.fixture(scope="session")
def vectors() -> torch.Tensor:
    return torch.randn(9, DIMENSION, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
