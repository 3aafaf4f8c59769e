"""Small denoisers with weights that are not at their zero start, so that every part speaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser

BLOCKS = {
    "paper": BlockConfig(hidden=32, heads=4, ffn=64),
    "bert": BlockConfig(hidden=32, heads=4, ffn=64, norm="post"),
    "modernbert": BlockConfig(hidden=32, heads=4, ffn=48, gated=True, bias=False, rotary=(1e4, 1.6e5)),
}
VOCABULARY, VECTOR_DIM = 50, 8


@pytest.fixture
def make() -> Callable[..., Denoiser]:
    def make_denoiser(family: str = "bert", *, seed: int = 0, **settings: object) -> Denoiser:
        torch.manual_seed(seed)
        values = {"length": "given", "lexical_hidden": 16, "memory": 4, "head_transform": True} | settings
        config = DenoiserConfig(
            vector_dim=VECTOR_DIM,
            vocabulary=VOCABULARY,
            max_length=12,
            layers=2,
            block=BLOCKS[family],
            **values,
        )
        denoiser = Denoiser(config).eval()
        with torch.no_grad():
            for name, parameter in denoiser.named_parameters():
                if not name.endswith("norm.weight"):
                    parameter.normal_(std=0.2)
        return denoiser

    return make_denoiser


class Batch:
    """Sequences of one length, about half of them masked."""

    def __init__(self, denoiser: Denoiser, *, size: int = 6, length: int = 7, seed: int = 1) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.vectors = torch.randn(size, VECTOR_DIM, generator=generator)
        self.lengths = torch.full((size,), length)
        self.x0 = torch.randint(VOCABULARY, (size, length), generator=generator)
        self.masked = torch.rand(size, length, generator=generator) < 0.5
        self.xt = self.x0.masked_fill(self.masked, denoiser.config.mask_id)
        self.t = torch.rand(size, generator=generator)
        self.at = self.masked.flatten().nonzero().squeeze(1)
        self.rows = self.at // length


@pytest.fixture
def batch_for() -> type[Batch]:
    return Batch
