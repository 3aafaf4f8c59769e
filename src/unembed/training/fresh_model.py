"""A model before its first step: vocabulary, blocks, statistics of the vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from unembed.data.prepared import TOKENIZER_NAME, PreparedData
from unembed.errors import MismatchError, UsageError
from unembed.model.backbone import Backbone, block_config, load_backbone, open_backbone
from unembed.model.checkpoint import Checkpoint, CheckpointConfig
from unembed.model.config import BlockConfig, DenoiserConfig
from unembed.model.denoiser import Denoiser
from unembed.model.parts import WEIGHTS
from unembed.model.vocabulary import Vocabulary
from unembed.training.config import TrainConfig
from unembed.training.dataset import Corpus, count_tokens
from unembed.training.warm_start import warm_start

WHITEN_SAMPLE = 100_000  # vectors that mean and covariance are measured on


class Built(NamedTuple):
    """A fresh model and what training needs to know of it."""

    checkpoint: Checkpoint
    counts: Tensor  # [V] how often each entry occurs
    started_from: str | None  # digest of the weights that it began with


def build(config: TrainConfig, corpus: Corpus) -> Built:
    """Vocabulary from the corpus, blocks from scratch or a backbone, statistics from the vectors."""
    data = corpus.folders[0]
    tokenizer = data.tokenizer()
    by_token = count_tokens(corpus.train, tokenizer.get_vocab_size(with_added_tokens=True))
    fixed = config.length == "fixed"
    if by_token.max() < config.min_count:
        raise UsageError(f"No token occurs {config.min_count} times: lower --min-count.")
    vocabulary = Vocabulary.from_counts(by_token, min_count=config.min_count, fixed_length=fixed)
    source = _same_encoder(config.start_from, data) if config.start_from else None
    if source is not None:  # what it can write already stays, whether this corpus has it or not
        vocabulary = vocabulary.joined(source.vocabulary)
    torch.manual_seed(config.seed)
    backbone = open_backbone(config.backbone) if config.backbone else None
    layers = _backbone_layers(config, backbone)
    denoiser = Denoiser(_denoiser_config(config, data, len(vocabulary), backbone, layers))
    if backbone is not None:
        _load(denoiser, backbone, layers, vocabulary, data)
    counts = _entry_counts(vocabulary, by_token, corpus.train.lengths, config.max_length)
    sample = np.linspace(0, len(corpus.train) - 1, min(WHITEN_SAMPLE, len(corpus.train))).astype(np.int64)
    vectors = torch.from_numpy(corpus.train.vectors(sample))  # [N, D]
    if config.whiten:
        denoiser.standardise.fit(vectors)
    if denoiser.lexical is not None:
        denoiser.lexical.initialise(counts / len(corpus.train))
    if source is not None:
        warm_start(denoiser, vocabulary, source)
    norms = vectors.norm(dim=1)
    described = CheckpointConfig(
        denoiser=denoiser.config,
        encoder=data.manifest.encoder,
        vector_norm=(float(norms.mean()), float(norms.std()) if len(norms) > 1 else 0.0),
    )
    started_from = None if source is None else source.config.digests.get(WEIGHTS)
    return Built(Checkpoint(denoiser, vocabulary, tokenizer, described), counts, started_from)


def _same_encoder(start_from: str, data: PreparedData) -> Checkpoint:
    source: Checkpoint = Checkpoint.from_pretrained(start_from)
    theirs, ours = source.config.encoder, data.manifest.encoder
    if theirs.digest != ours.digest:
        raise MismatchError(
            f"{start_from} was trained for '{theirs.name}', the data is of '{ours.name}'.",
            hint="Start from a model of the same encoder, or leave --start-from out.",
        )
    return source


def _denoiser_config(
    config: TrainConfig,
    data: PreparedData,
    vocabulary: int,
    backbone: Backbone | None,
    layers: tuple[int, ...],
) -> DenoiserConfig:
    if backbone is not None:
        block = block_config(backbone, layers, config.max_length)
        block = block.model_copy(update={"dropout": config.dropout})
    else:
        block = BlockConfig(hidden=config.hidden, heads=config.heads, ffn=config.ffn, dropout=config.dropout)
    return DenoiserConfig(
        vector_dim=data.manifest.encoder.dimension,
        vocabulary=vocabulary,
        max_length=config.max_length,
        layers=len(layers) if backbone is not None else config.layers,
        block=block,
        length=config.length,
        time_input=config.time_input,
        lexical_hidden=config.lexical_hidden,
        length_hidden=config.length_hidden,
        memory=config.memory,
        modulation_limit=config.modulation_limit,
        head_transform=config.head_transform,
    )


def _backbone_layers(config: TrainConfig, backbone: Backbone | None) -> tuple[int, ...]:
    if backbone is None:
        return ()
    return config.backbone_layers or tuple(range(backbone.layers))


def _load(
    denoiser: Denoiser,
    backbone: Backbone,
    layers: tuple[int, ...],
    vocabulary: Vocabulary,
    data: PreparedData,
) -> None:
    """The backbone's rows for our tokens, which must be its tokenizer's."""
    tokenizer = data.tokenizer()
    rows = int(backbone.config["vocab_size"])
    if int(vocabulary.token_ids.max()) >= rows:
        raise UsageError(
            f"The data's tokenizer has more tokens than the backbone '{backbone.folder.name}' knows.",
            hint="Prepare the data with the backbone's own tokenizer.",
        )
    own = backbone.folder / TOKENIZER_NAME
    if own.exists() and Tokenizer.from_file(str(own)).get_vocab() != tokenizer.get_vocab():
        raise UsageError(
            f"The data's tokenizer is not that of the backbone '{backbone.folder.name}'.",
            hint="Prepare the data with the backbone's own tokenizer: unembed prepare --tokenizer.",
        )
    special = {kind: tokenizer.token_to_id(kind) for kind in ("[MASK]", "<mask>", "[UNK]", "<unk>")}
    mask = next((special[kind] for kind in ("[MASK]", "<mask>") if special[kind] is not None), None)
    unknown = next((special[kind] for kind in ("[UNK]", "<unk>") if special[kind] is not None), None)
    if mask is None:
        raise UsageError(
            "The data's tokenizer has no [MASK] token, which the backbone needs.",
            hint="Prepare the data with the backbone's own tokenizer.",
        )
    ids = torch.from_numpy(np.where(vocabulary.token_ids >= 0, vocabulary.token_ids, unknown or 0)).long()
    load_backbone(denoiser, backbone, layers, ids, mask)


def _entry_counts(
    vocabulary: Vocabulary, by_token: NDArray[np.int64], lengths: NDArray[np.int64], max_length: int
) -> Tensor:
    """How often each entry occurs; the end and padding count once per text.  # [V]"""
    known = vocabulary.token_ids >= 0
    counts = np.zeros(len(vocabulary), dtype=np.float32)
    counts[known] = by_token[vocabulary.token_ids[known]]
    counts[vocabulary.unknown] = by_token.sum() - counts[known].sum(dtype=np.float64)
    if vocabulary.fixed_length:
        counts[vocabulary.end] = (lengths < max_length).sum()
        counts[vocabulary.pad] = (lengths < max_length - 1).sum()
    return torch.from_numpy(counts)
