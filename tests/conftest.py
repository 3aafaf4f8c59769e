"""Fixtures for every test: a toy encoder, toy tokenizers, a small prepared folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

# Before torch is imported: tests run side by side (`make test`), and toy sizes gain nothing from threads.
# The processes that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer

import toy
from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.data.prepared import PreparedData

if TYPE_CHECKING:
    from unembed import Inverter

# Offline: whatever runs pip in a test finds no registry (`registry` tests lift this for themselves).
os.environ["PIP_NO_INDEX"] = "1"

# A property test is the same on every machine, however slow: its examples are not random, nor is it timed.
settings.register_profile(
    "everywhere", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("everywhere")


@pytest.fixture(scope="session")
def bundled() -> Inverter:
    """The bundled model, loaded once; its encoder, phrases and surrogate are loaded when first used."""
    from unembed import Inverter  # and with it torch, which many tests do without

    return Inverter.from_pretrained()


@pytest.fixture(scope="session")
def toy_tokenizer() -> Tokenizer:
    return toy.wordpiece()


@pytest.fixture
def toy_encoder(toy_tokenizer: Tokenizer) -> toy.ToyEncoder:
    return toy.ToyEncoder(tokenizer=toy_tokenizer)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A plain text file of 400 sentences."""
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(toy.sentences(400)) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def texts(corpus: Path, tmp_path: Path) -> Path:
    """The same, collected."""
    folder = tmp_path / "texts"
    collect(CollectConfig(source=(f"en={corpus}",)), folder)
    return folder


@pytest.fixture
def prepared(texts: Path, tmp_path: Path, toy_encoder: toy.ToyEncoder) -> PreparedData:
    """The same, encoded with the toy encoder: 4 shards of 100 texts, a fifth held out on each side."""
    config = EncodeConfig(seq_len=8, shard_size=100, validation_share=0.2, test_share=0.2)
    return encode(config, texts, tmp_path / "prepared", encoder=toy_encoder)
