"""BERT's forward pass and nothing else: post-norm blocks over texts of different lengths, no padding.

Texts lie one behind the other in one matrix of tokens, sorted by length. Everything but attention
works on tokens, so that no arithmetic is spent on padding; attention runs once for each stretch of
texts of equal length (`Run`).

The denoiser's blocks (`model/blocks.py`) can start from a BERT's weights, but are blocks of their own. They
work on texts of one length [B, L, D], with norms that a vector modulates, a memory to attend to, dropout
and two other families; an encoder needs none of it, and needs this layout. What the two share is how a
published block is read: `published_block`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from unembed.compute.packed_linear import PackedLinear, feed_forward
from unembed.compute.short_attention import attention
from unembed.errors import DataError
from unembed.storage import read_json


class Run(NamedTuple):
    """Consecutive texts of one length in the flat matrix of tokens."""

    texts: int
    length: int


class BertConfig(BaseModel):
    """The fields of a BERT `config.json` that decide the arithmetic."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    model_type: str = "bert"


class BertBlock(nn.Module):
    """One post-norm block: attention, add and norm, feed-forward, add and norm."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.qkv = PackedLinear(width, 3 * width)
        self.out = PackedLinear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.up = PackedLinear(width, config.intermediate_size)
        self.down = PackedLinear(config.intermediate_size, width)
        self.norm2 = nn.LayerNorm(width, eps=config.layer_norm_eps)

    def forward(self, x: Tensor, runs: Sequence[Run]) -> Tensor:  # [T, D] -> [T, D]
        x = x.to(self.qkv.weight.dtype)  # bf16 where a training says so
        x = self.norm1(self.out(self.attend(x, runs)) + x)
        return self.norm2(feed_forward(x, self.up, self.down) + x)  # type: ignore[no-any-return]

    def attend(self, x: Tensor, runs: Sequence[Run]) -> Tensor:  # [T, D] -> [T, D]
        """Every text attends to its own tokens only."""
        width = x.shape[-1]
        qkv = self.qkv(x).float()  # [T, 3D]; attention's backward pass is slow in bf16
        parts = []
        for (texts, length), part in zip(
            runs, torch.split(qkv, [n * length for n, length in runs]), strict=True
        ):
            # [3, B, heads, L, D / heads]
            q, k, v = part.view(texts, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = attention(q, k, v)  # [B, heads, L, D / heads]
            parts.append(mixed.transpose(1, 2).reshape(texts * length, width))
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).to(x.dtype)


class Bert(nn.Module):
    """Token ids to token vectors."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        if config.model_type != "bert" or config.hidden_act != "gelu":
            raise DataError(f"Not a BERT with GELU: {config.model_type} with {config.hidden_act}.")
        self.config = config
        # The token-type row (always 0 for single texts) is folded into the words.
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.blocks = nn.ModuleList(BertBlock(config) for _ in range(config.num_hidden_layers))

    def forward(self, ids: Tensor, runs: Sequence[Run]) -> Tensor:  # [T] -> [T, D]
        return self.read(self.words(ids), runs)

    def read(self, words: Tensor, runs: Sequence[Run]) -> Tensor:  # [T, D] -> [T, D]
        """The same from the words' vectors: for whoever asks what another word would change."""
        x = self.norm(words + self.positions(positions_of(runs, words.device)))
        for block in self.blocks:
            x = block(x, runs)
        return x  # type: ignore[no-any-return]


def positions_of(runs: Sequence[Run], device: torch.device) -> Tensor:
    """0, 1, 2, ... for every text of every run: [T]."""
    return torch.cat([torch.arange(length, device=device).repeat(texts) for texts, length in runs])


def mean_pool(x: Tensor, runs: Sequence[Run]) -> Tensor:  # [T, D] -> [B, D]
    """The mean of every text's token vectors."""
    split = torch.split(x, [texts * length for texts, length in runs])
    return torch.cat(
        [part.view(texts, length, -1).mean(1) for (texts, length), part in zip(runs, split, strict=True)]
    )


def load_bert(folder: Path) -> Bert:
    """The network of a BERT folder (`config.json`, `model.safetensors`), in evaluation mode."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise _not_its_weights(path, error) from error
    return bert_of(weights, BertConfig(**read_json(folder / "config.json")), path)


def bert_of(weights: dict[str, Tensor], config: BertConfig, path: Path) -> Bert:
    """The network of a published BERT's tensors, which were read from `path`, in evaluation mode."""
    with torch.device("meta"):  # the weights come from the file: initialising them would be thrown away
        model = Bert(config)
    try:
        model.load_state_dict(_renamed(weights, len(model.blocks)), assign=True)
    except (KeyError, RuntimeError) as error:
        raise _not_its_weights(path, error) from error
    return model.eval().requires_grad_(False)


def _not_its_weights(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is not this BERT's weights: {error}")


def _renamed(weights: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """The published tensor names -> ours."""
    tokens_and_type = weights["embeddings.word_embeddings.weight"]
    state = {
        "words.weight": tokens_and_type + weights["embeddings.token_type_embeddings.weight"][0],
        "positions.weight": weights["embeddings.position_embeddings.weight"],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for layer in range(layers):
        block = published_block(weights.__getitem__, layer)
        state.update({f"blocks.{layer}.{name}": value for name, value in block.items()})
    return state


def published_block(tensor: Callable[[str], Tensor], layer: int) -> dict[str, Tensor]:
    """A published BERT's block under the names of `BertBlock`, with q, k and v fused."""
    names = {
        "out": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm2": "output.LayerNorm",
    }
    at, block = f"encoder.layer.{layer}.", {}
    for kind in ("weight", "bias"):
        qkv = [tensor(f"{at}attention.self.{part}.{kind}") for part in ("query", "key", "value")]
        block[f"qkv.{kind}"] = torch.cat(qkv)
        for ours, theirs in names.items():
            block[f"{ours}.{kind}"] = tensor(f"{at}{theirs}.{kind}")
    return block
