"""A tiny model with random weights for the toy encoder's vectors, in a folder as training leaves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from evaluation_bench import Bench

import toy
from unembed.data.prepared import PreparedData
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary

MakeModel = Callable[..., Path]


@pytest.fixture
def make_model(prepared: PreparedData, tmp_path: Path) -> MakeModel:
    """Save a toy model under a name; `step` is what its training claims."""

    def make(
        name: str = "toy-model",
        *,
        seed: int = 0,
        length: str = "given",
        step: int = 100,
        data: PreparedData = prepared,
    ) -> Path:
        train = data.split("train")
        tokens = train.tokens(range(len(train)))
        counts = np.bincount(tokens[tokens >= 0].ravel(), minlength=data.manifest.tokenizer.vocabulary)
        vocabulary = Vocabulary.from_counts(counts, fixed_length=length == "fixed")
        config = DenoiserConfig(
            vector_dim=data.manifest.encoder.dimension,
            vocabulary=len(vocabulary),
            max_length=8,
            layers=1,
            block=BlockConfig(hidden=16, heads=2, ffn=16),
            length=length,  # type: ignore[arg-type]
            lexical_hidden=16,
        )
        torch.manual_seed(seed)
        denoiser = Denoiser(config).eval()
        described = CheckpointConfig(
            denoiser=config,
            encoder=data.manifest.encoder,
            vector_norm=(1.0, 0.0),
            training={"step": step, "data": [data.digest], "samples": 64 * step, "seconds": 120.0},
        )
        folder = tmp_path / name
        Checkpoint(denoiser, vocabulary, data.tokenizer(), described).save_pretrained(folder)
        return folder

    return make


@pytest.fixture
def model(make_model: MakeModel) -> Path:
    return make_model()


@pytest.fixture
def bench(prepared: PreparedData, model: Path, tmp_path: Path, toy_encoder: toy.ToyEncoder) -> Bench:
    return Bench(prepared, model, tmp_path / "evaluation", toy_encoder)
