"""A toy base with random weights, for adapters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from rotated import DIM

import toy
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary


@pytest.fixture
def base(tmp_path: Path) -> Path:
    tokenizer = toy.wordpiece()
    vocabulary = Vocabulary.from_counts(np.ones(tokenizer.get_vocab_size(), dtype=np.int64))
    config = DenoiserConfig(
        vector_dim=DIM, vocabulary=len(vocabulary), max_length=12, layers=1, length="given", lexical_hidden=8,
        block=BlockConfig(hidden=16, heads=2, ffn=16),
    )  # fmt: skip
    torch.manual_seed(0)
    info = toy.ToyEncoder(dimension=DIM).info
    described = CheckpointConfig(denoiser=config, encoder=info, vector_norm=(1.0, 0.0))
    Checkpoint(Denoiser(config).eval(), vocabulary, tokenizer, described).save(tmp_path / "base")
    return tmp_path / "base"
