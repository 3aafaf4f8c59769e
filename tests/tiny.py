"""A tiny model with random weights in a real checkpoint: everything but good texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from unembed.encoders.base import EncoderInfo
from unembed.encoders.bert import BertConfig
from unembed.encoders.surrogate_encoder import Surrogate, SurrogateConfig, SurrogateNetwork
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary


def checkpoint(
    tokenizer: Tokenizer,
    info: EncoderInfo,
    *,
    length: str = "given",
    max_length: int = 10,
    fit_to: np.ndarray | None = None,
    seed: int = 0,
) -> Checkpoint:
    """A model for the encoder that `info` describes, standardised to `fit_to` [N, D] if given."""
    size = tokenizer.get_vocab_size()
    counts = np.ones(size, dtype=np.int64)
    counts[:5] = 0  # the special tokens
    vocabulary = Vocabulary.from_counts(counts, fixed_length=length == "fixed")
    config = DenoiserConfig(
        vector_dim=info.dimension,
        vocabulary=len(vocabulary),
        max_length=max_length,
        layers=1,
        block=BlockConfig(hidden=16, heads=2, ffn=32),
        length=length,
        lexical_hidden=8,
    )
    generator = torch.Generator().manual_seed(seed)
    denoiser = Denoiser(config).eval()
    with torch.no_grad():
        for parameter in denoiser.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
        if denoiser.length_head is not None:
            denoiser.length_head[-1].weight.mul_(0.1)
            denoiser.length_head[-1].bias.zero_()
    norms = np.ones(2) if fit_to is None else np.linalg.norm(fit_to, axis=1)
    if fit_to is not None:
        denoiser.standardise.fit(torch.from_numpy(fit_to))
    return Checkpoint(
        denoiser,
        vocabulary,
        tokenizer,
        CheckpointConfig(
            denoiser=config, encoder=info, vector_norm=(float(norms.mean()), float(norms.std()))
        ),
    )


def save(model: Checkpoint, folder: Path) -> Path:
    """The model as a folder."""
    model.save_pretrained(folder)
    return folder


def surrogate(checkpoint: Checkpoint) -> Surrogate:
    """A surrogate with random weights for the model's encoder."""
    tokenizer = checkpoint.tokenizer
    network = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=16,
    )  # fmt: skip
    config = SurrogateConfig(network=network, encoder=checkpoint.config.encoder)
    return Surrogate(SurrogateNetwork(network, config.encoder.dimension), tokenizer, config)
