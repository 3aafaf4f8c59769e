"""A public encoder's own blocks as the denoiser's starting point: BERT's family and ModernBERT.

Weights are read straight from safetensors; the pretrained library is not needed. With zero modulation
the denoiser's hidden states then equal the pretrained model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from unembed.encoders.bert import published_block
from unembed.encoders.locations import package_folder
from unembed.encoders.minilm import PACKAGE
from unembed.errors import DataError, UnembedError, UsageError
from unembed.hub import snapshot
from unembed.model.blocks import Block
from unembed.model.config import BlockConfig
from unembed.model.denoiser import Denoiser
from unembed.storage import read_json

# BERT's own name -> where its positions start: RoBERTa's begin after the padding index.
BERT_FAMILY = {"bert": 0, "roberta": 2, "xlm-roberta": 2, "camembert": 2}


@dataclass(frozen=True)
class Backbone:
    """A folder with config.json and model.safetensors, and how to read tensors from it."""

    folder: Path
    config: dict[str, Any]
    tensor: Callable[[str], Tensor]

    @property
    def family(self) -> str:
        kind = self.config.get("model_type")
        if kind in BERT_FAMILY:
            return "bert"
        if kind == "modernbert":
            return "modernbert"
        raise UsageError(
            f"A backbone of type '{kind}' is not supported.",
            hint=f"Use one of: {', '.join(BERT_FAMILY)}, modernbert.",
        )

    @property
    def layers(self) -> int:
        return int(self.config["num_hidden_layers"])


def open_backbone(source: str) -> Backbone:
    """A local folder, the bundled encoder's name, or a hub id (downloaded, safetensors only)."""
    folder = _find_folder(source)
    weights = folder / "model.safetensors"
    if not weights.exists():
        raise UsageError(
            f"{folder} has no model.safetensors.",
            hint="Pickled weights are never loaded; convert them first.",
        )
    try:
        reader = safe_open(weights, framework="pt")
    except SafetensorError as error:
        raise DataError(f"{weights} is damaged: {error}", hint="Download the backbone again.") from error
    # Checkpoints with a head put a prefix before the encoder's own names.
    prefixes = ("", "bert.", "roberta.", "model.")
    names = set(reader.keys())  # type: ignore[no-untyped-call]

    def tensor(name: str) -> Tensor:
        for prefix in prefixes:
            if prefix + name in names:
                out: Tensor = reader.get_tensor(prefix + name).float()  # type: ignore[no-untyped-call]
                return out
        raise UsageError(
            f"{weights} has no tensor '{name}': is it a complete encoder?",
            hint="Choose another --backbone, or download it again.",
        )

    return Backbone(folder, read_json(folder / "config.json"), tensor)


def block_config(backbone: Backbone, layers: Sequence[int], max_length: int) -> BlockConfig:
    """The shape that the chosen layers of the backbone need."""
    config = backbone.config
    if list(layers) != sorted(set(layers)) or not layers or layers[-1] >= backbone.layers:
        raise UsageError(
            f"Backbone layers must be rising numbers below {backbone.layers}, got {list(layers)}.",
            hint="For example: --backbone-layers 0,2,4",
        )
    activation = config.get("hidden_activation", config.get("hidden_act", "gelu"))
    if activation != "gelu":
        raise UsageError(
            f"A backbone with activation '{activation}' is not supported, only gelu.",
            hint="Choose another --backbone.",
        )
    family = _bert_config if backbone.family == "bert" else _modernbert_config
    return BlockConfig(
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        ffn=config["intermediate_size"],
        **family(config, layers, max_length),
    )


def _bert_config(config: dict[str, Any], layers: Sequence[int], max_length: int) -> dict[str, Any]:
    positions = int(config["max_position_embeddings"]) - BERT_FAMILY[config["model_type"]] - 1
    if max_length > positions:
        raise UsageError(
            f"max_length {max_length} exceeds the backbone's {positions} positions.",
            hint="Lower --max-length, or choose another --backbone.",
        )
    return {"norm": "post", "norm_eps": config.get("layer_norm_eps", 1e-12)}


def _modernbert_config(config: dict[str, Any], layers: Sequence[int], max_length: int) -> dict[str, Any]:
    if any(config.get(name) for name in ("norm_bias", "attention_bias", "mlp_bias")):
        raise UsageError(
            "A ModernBERT backbone with biases is not supported.", hint="Choose another --backbone."
        )
    if max_length > int(config.get("local_attention", 128)) // 2:
        raise UsageError(
            f"max_length {max_length} exceeds ModernBERT's local attention window.",
            hint="Lower --max-length.",
        )
    return {
        "norm": "pre",
        "gated": True,
        "bias": False,
        "norm_eps": config.get("norm_eps", 1e-5),
        "rotary": tuple(_rotary_base(config, layer) for layer in layers),
        "first_norm": layers[0] != 0,
    }


@torch.no_grad()
def load_backbone(
    denoiser: Denoiser, backbone: Backbone, layers: Sequence[int], token_ids: Tensor, mask_token_id: int
) -> None:
    """Copy embeddings and chosen blocks. token_ids: [V] the backbone's id of each vocabulary entry."""
    tensor = backbone.tensor
    rows = torch.cat([token_ids, torch.tensor([mask_token_id])])  # [V + 1]
    if backbone.family == "bert":
        start = (
            BERT_FAMILY[backbone.config["model_type"]] + 1
        )  # + 1: the position of [CLS], which we leave out
        positions = tensor("embeddings.position_embeddings.weight")[
            start : start + denoiser.config.max_length
        ]
        segment = tensor("embeddings.token_type_embeddings.weight")[0]  # [D]
        assert denoiser.position is not None
        denoiser.token.weight.copy_(tensor("embeddings.word_embeddings.weight")[rows])
        denoiser.position.weight.copy_(positions + segment)
        _copy_norm(denoiser.input_norm, tensor, "embeddings.LayerNorm")
        copy_block = _copy_bert_block
    else:
        denoiser.token.weight.copy_(tensor("embeddings.tok_embeddings.weight")[rows])
        _copy_norm(denoiser.input_norm, tensor, "embeddings.norm")
        _copy_norm(denoiser.output_norm, tensor, "final_norm")
        copy_block = _copy_modernbert_block
    for block, layer in zip(denoiser.blocks, layers, strict=True):
        assert isinstance(block, Block)
        copy_block(block, tensor, layer)


def _copy_bert_block(block: Block, tensor: Callable[[str], Tensor], layer: int) -> None:
    modules = {
        "qkv": block.attention.qkv,
        "out": block.attention.out,
        "norm1": block.attention_norm,
        "up": block.feed_forward.up,
        "down": block.feed_forward.down,
        "norm2": block.feed_forward_norm,
    }
    for name, value in published_block(tensor, layer).items():
        module, _, kind = name.partition(".")
        getattr(modules[module], kind).copy_(value)


def _copy_modernbert_block(block: Block, tensor: Callable[[str], Tensor], layer: int) -> None:
    at = f"layers.{layer}."
    block.attention.qkv.weight.copy_(tensor(f"{at}attn.Wqkv.weight"))
    block.attention.out.weight.copy_(tensor(f"{at}attn.Wo.weight"))
    block.feed_forward.up.weight.copy_(tensor(f"{at}mlp.Wi.weight"))
    block.feed_forward.down.weight.copy_(tensor(f"{at}mlp.Wo.weight"))
    if layer > 0:
        _copy_norm(block.attention_norm, tensor, f"{at}attn_norm")
    _copy_norm(block.feed_forward_norm, tensor, f"{at}mlp_norm")


def _copy_norm(norm: torch.nn.Module, tensor: Callable[[str], Tensor], name: str) -> None:
    assert isinstance(norm, torch.nn.LayerNorm)
    norm.weight.copy_(tensor(f"{name}.weight"))
    if norm.bias is not None:
        norm.bias.copy_(tensor(f"{name}.bias"))


def _rotary_base(config: dict[str, Any], layer: int) -> float:
    """ModernBERT turns global and local layers at different rates; its config says so in two dialects."""
    every = int(config.get("global_attn_every_n_layers", 3))
    kinds = config.get("layer_types")
    is_global = kinds[layer] == "full_attention" if kinds else layer % every == 0
    if "rope_parameters" in config:
        return float(
            config["rope_parameters"]["full_attention" if is_global else "sliding_attention"]["rope_theta"]
        )
    return float(
        config.get("global_rope_theta", 160_000.0) if is_global else config.get("local_rope_theta", 10_000.0)
    )


def _find_folder(source: str) -> Path:
    if source == "minilm":
        bundled = package_folder(PACKAGE, "model")
        if bundled is not None:
            return bundled
    if Path(source).is_dir():
        return Path(source)
    try:
        return snapshot(source, allow=("config.json", "model.safetensors", "tokenizer*"))
    except UnembedError as error:
        raise type(error)(
            f"The backbone: {error.message}",
            hint="Give a folder that holds config.json and model.safetensors.",
        ) from error
