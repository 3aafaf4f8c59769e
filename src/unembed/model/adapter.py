"""An adapter lets a model read another encoder's vectors than those that it learnt from.

It is a linear map from the other vectors to the model's standardised ones, and with it the last layer of
the model's surrogate for the other encoder. A folder holds these two and names its base, the model whose
blocks it uses, by digest:

    adapter.json, adapter.safetensors, README.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from unembed.encoders.base import EncoderInfo
from unembed.errors import DataError
from unembed.storage import atomic_write, digest_bytes, read_checked, read_json, write_json

FORMAT = 1
ADAPTER, ADAPTER_WEIGHTS = "adapter.json", "adapter.safetensors"
BUNDLED = "bundled"  # the name of the model that comes with the package
_AGAIN = "Copy or download the adapter again, or make it again: unembed adapt --help"


class Base(BaseModel):
    """The model that an adapter is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="bundled, a folder or a hub id.")
    digest: str = Field(description="sha256 of its weights.")
    surrogate: str | None = Field(None, description="sha256 of its surrogate's weights.")


class Rate(BaseModel):
    """A share with its 95 % interval."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    low: float
    high: float


class Measured(BaseModel):
    """What came back of held-out texts of one kind, the vector alone, the length unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    texts: str = Field(description="What kind of texts.")
    n: int = Field(gt=0, description="How many.")
    token_f1: Rate
    exact_match: Rate


class FineTuning(BaseModel):
    """What training did after the closed form; words found are shares of pairs set aside."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    minutes: float = Field(gt=0, description="How long it was allowed to take.")
    samples: int = Field(ge=0, description="Pairs that it learnt from, repeats counted.")
    aside: int = Field(gt=0, description="Pairs set aside, by which it was stopped and judged.")
    words_before: float = Field(description="Words that the base's lexical head finds with the closed form.")
    words_after: float = Field(description="Words that it finds with the fine-tuned map at its best.")
    standard_error: float = Field(ge=0, description="Of the difference, over the texts set aside.")
    kept: bool = Field(description="Whether the adapter's map is the fine-tuned one: only where it pays.")


class AdapterConfig(BaseModel):
    """adapter.json: for which encoder, on which base, and how it was fitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(FORMAT, description="Version of this layout.")
    base: Base
    encoder: EncoderInfo = Field(description="Whose vectors it reads.")
    vector_norm: tuple[float, float] = Field(description="Mean and spread of the pairs' norms.")
    fit: dict[str, Any] = Field(default_factory=dict, description="Pairs, strengths and errors of the fit.")
    fine_tuning: FineTuning | None = Field(None, description="What training changed. None: not tried.")
    measured: tuple[Measured, ...] = Field((), description="What it recovers, where that was measured.")
    licence: str | None = Field(None, description="What its maker publishes it under. None: unknown.")
    digests: dict[str, str] = Field(default_factory=dict, description="sha256 of each other file.")

    @property
    def has_map(self) -> bool:
        """Whether it was fitted on anything; if not, a search fits it on what it embeds."""
        return self.fit.get("pairs") != 0


class AdapterWeights(BaseModel):
    """`standardised = (e - mean) matrix + shift`; the surrogate's vector is `hidden project^T + bias`."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    mean: Tensor  # [vector_dim]
    matrix: Tensor  # [vector_dim, native_dim]
    shift: Tensor  # [native_dim]
    project: Tensor | None = None  # [vector_dim, the surrogate's width]
    bias: Tensor | None = None  # [vector_dim]

    @classmethod
    def without_pairs(cls, dimension: int, native_dim: int) -> AdapterWeights:
        """What is known of an encoder without a pair: every vector is read as the mean one."""
        zeros = torch.zeros(native_dim)
        return cls(mean=torch.zeros(dimension), matrix=torch.zeros(dimension, native_dim), shift=zeros)

    def tensors(self) -> dict[str, Tensor]:
        found = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: tensor.contiguous() for name, tensor in found.items() if tensor is not None}

    def check(self, config: AdapterConfig) -> None:
        """Shapes that agree with each other and with the encoder, and finite numbers only."""
        dim = config.encoder.dimension
        shapes = {name: tuple(tensor.shape) for name, tensor in self.tensors().items()}
        width = 0 if self.project is None else self.project.shape[-1]
        wanted: dict[str, tuple[int, ...]] = {
            "mean": (dim,),
            "matrix": (dim, len(self.shift)),
            "shift": (len(self.shift),),
        }
        if self.project is not None or self.bias is not None:
            wanted |= {"project": (dim, width), "bias": (dim,)}
        if shapes != wanted:
            raise DataError(f"The adapter's weights have shapes {shapes}, not {wanted}.", hint=_AGAIN)
        if not all(bool(tensor.isfinite().all()) for tensor in self.tensors().values()):
            raise DataError("The adapter's weights hold NaN or infinity.", hint=_AGAIN)


def save_adapter(folder: Path, config: AdapterConfig, weights: AdapterWeights) -> AdapterConfig:
    """Write both files; the configuration with the weights' digest."""
    content = save_tensors({name: tensor.half() for name, tensor in weights.tensors().items()})
    config = config.model_copy(update={"digests": {ADAPTER_WEIGHTS: digest_bytes(content)}})
    with atomic_write(folder / ADAPTER_WEIGHTS) as file:
        file.write(content)
    write_json(folder / ADAPTER, config.model_dump(mode="json"))
    return config


def read_adapter(folder: Path) -> tuple[AdapterConfig, AdapterWeights]:
    """Both files, checked."""
    try:
        config = AdapterConfig.model_validate(read_json(folder / ADAPTER))
    except ValidationError as error:
        raise DataError(f"{folder / ADAPTER} does not describe an adapter: {error}", hint=_AGAIN) from error
    if config.format != FORMAT:
        raise DataError(
            f"{folder} has format {config.format}; this version of unembed reads format {FORMAT}.",
            hint="Install the version of unembed that wrote it, or a newer one.",
        )
    content = read_checked(folder / ADAPTER_WEIGHTS, config.digests.get(ADAPTER_WEIGHTS), hint=_AGAIN)
    try:
        weights = AdapterWeights(**{k: v.to(torch.float32) for k, v in load_tensors(content).items()})
    except (SafetensorError, ValidationError) as error:
        raise DataError(
            f"{folder / ADAPTER_WEIGHTS} does not hold an adapter: {error}", hint=_AGAIN
        ) from error
    weights.check(config)
    return config, weights
