"""A synthetic language, a toy encoder and a small model: enough to learn something in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import toy
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.training.config import TrainConfig


@pytest.fixture
def one_thread() -> Iterator[None]:
    """The same sums in the same order, every time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 toy sentences with 64-dimensional toy vectors."""
    folder = tmp_path_factory.mktemp("toy-data")
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(toy.sentences(3000)) + "\n", encoding="utf-8")
    collect(CollectConfig(source=(f"en={corpus}",)), folder / "texts")
    config = EncodeConfig(seq_len=16, validation_share=0.05, test_share=0.05)
    encoder = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    encode(config, folder / "texts", folder / "prepared", encoder=encoder)
    return folder / "prepared"


@pytest.fixture
def toy_config(toy_data: Path, tmp_path: Path) -> TrainConfig:
    """A compact model in miniature: every part that the real one has, a hundredth of its size."""
    return TrainConfig(
        data=(toy_data,),
        output=tmp_path / "run",
        layers=2,
        hidden=64,
        heads=4,
        ffn=128,
        dropout=0.1,
        length="given",
        max_length=16,
        time_input=True,
        lexical_hidden=64,
        memory=8,
        candidates=20,
        head_batch=16,
        condition_dropout=0.1,
        batch=32,
        groups=4,
        steps=12,
        learning_rate=1e-3,
        warmup=4,
        validate_every=6,
        sample_every=6,
        validate_size=32,
        sample_size=16,
        save_every=4,
        log_every=1,
        device="cpu",
        precision="fp32",  # exact comparisons; bf16 has tests of its own
    )
