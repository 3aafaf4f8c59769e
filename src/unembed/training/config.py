"""All settings of a training run. A field's description is its option's help."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

# The field at which each part of the configuration begins: the headings of the command's help.
SECTIONS = {
    "data": "Data",
    "backbone": "Model",
    "noise": "Objective",
    "batch": "Optimiser",
    "log_every": "Reporting and saving",
}

# Fields that do not change what is learned: a run may be continued with other values of them.
FREE_ON_RESUME = frozenset(
    {"data", "output", "device", "log_every", "save_every", "sample_every", "sample_size", "milestones"}
)


class TrainConfig(BaseModel):
    """Data, model, objective, optimiser and schedule of one run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # What it learns from.
    data: tuple[Path, ...] = Field(description="Prepared data; repeat for more than one folder.")
    output: Path = Field(description="Folder of the run; give the same one to resume.")
    min_tokens: int = Field(default=1, ge=1, description="Leave out shorter texts.")
    max_tokens: int | None = Field(default=None, ge=1, description="Leave out longer texts.")
    limit: int | None = Field(default=None, ge=1, description="Train on N of the texts, spread over all.")
    source_alpha: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Sources (each label of each folder) are drawn by their size to this power: 1 by size, "
        "0 all alike.",
    )
    min_count: int = Field(
        default=1, ge=1, description="Tokens that occur less often are not in the vocabulary."
    )

    # The model.
    backbone: str | None = Field(
        default=None,
        description="Start from this encoder's blocks: minilm, a folder or a hub id; none: from scratch.",
    )
    backbone_layers: tuple[int, ...] = Field(
        default=(), description="Which of its blocks, in ascending order; none: all."
    )
    start_from: str | None = Field(
        default=None, description="Start from this trained model: a folder or a hub id."
    )
    layers: int = Field(default=8, ge=1, description="Blocks, where there is no backbone.")
    hidden: int = Field(default=768, ge=1, description="Width, where there is no backbone.")
    heads: int = Field(default=12, ge=1, description="Attention heads, where there is no backbone.")
    ffn: int = Field(default=3072, ge=1, description="Feed-forward width, where there is no backbone.")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout in the blocks.")
    length: Literal["fixed", "given"] = Field(
        default="fixed", description="fixed: predict end and padding too; given: a length head of its own."
    )
    max_length: int = Field(default=32, ge=1, description="Longest text in tokens.")
    time_input: bool = Field(default=True, description="Give the blocks the time t.")
    lexical_hidden: int = Field(default=0, ge=0, description="Width of the lexical head; 0 for none.")
    length_hidden: int = Field(default=256, ge=1, description="Width of the length head.")
    memory: int = Field(default=0, ge=0, description="Words of the lexical head that the blocks attend to.")
    modulation_limit: float = Field(
        default=0.0, ge=0, description="How far the vector may scale and shift a norm; 0: no bound."
    )
    head_transform: bool = Field(default=False, description="A dense layer before the tied output.")
    whiten: bool = Field(
        default=True, description="Centre and whiten the vectors before the model reads them."
    )

    # The objective.
    noise: Literal["linear", "exponential", "paper"] = Field(default="linear", description="Noise schedule.")
    weighting: Literal["bound", "token"] = Field(
        default="bound",
        description="bound: weigh by the likelihood bound; token: every masked token equally.",
    )
    condition_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of samples trained without their vector (for guidance)."
    )
    wrong_words: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of texts in whose context some words are wrong, as a decoder's are: words that "
        "the lexical head finds likely.",
    )
    vector_noise: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of samples whose vector is blurred: noise is added, and taken off again as well "
        "as can be. Such a model also reads other encoders' vectors through an adapter, and noisy ones.",
    )
    denoising_weight: float = Field(
        default=1.0,
        ge=0,
        description="Weight of the denoising loss; 0: the heads learn alone and no block is computed.",
    )
    lexical_weight: float = Field(default=0.5, ge=0, description="Weight of the lexical loss.")
    length_weight: float = Field(default=0.1, ge=0, description="Weight of the length loss.")
    head_batch: int = Field(
        default=0,
        ge=0,
        description="More vectors per step for the lexical and length heads alone, which are cheap.",
    )
    candidates: int = Field(
        default=0, ge=0, description="Softmax over the batch's tokens and this many drawn ones; 0: over all."
    )
    candidate_power: float = Field(
        default=0.6, ge=0, le=1, description="Draw candidates by their frequency to this power."
    )

    # The optimiser.
    batch: int = Field(default=400, ge=1, description="Samples per step, over all processes.")
    groups: int = Field(default=1, ge=1, description="Groups per step, each of texts of one length.")
    accumulate: int = Field(
        default=1, ge=1, description="Batches whose gradients are averaged before an update."
    )
    steps: int = Field(default=200_000, ge=1, description="Updates in all.")
    minutes: float | None = Field(
        default=None, gt=0, description="Train for this long instead; the learning rate follows the clock."
    )
    learning_rate: float = Field(default=1e-4, gt=0, description="Peak rate (of pretrained weights).")
    new_rate: float = Field(
        default=1.0, gt=0, description="Weights that are not pretrained learn this much faster."
    )
    condition_rate: float | None = Field(
        default=None,
        gt=0,
        description="The weights that carry the vector into the blocks learn this much faster (below 1: "
        "slower); none: like other new ones.",
    )
    warmup: int = Field(default=2000, ge=0, description="Steps until the peak rate.")
    decay: Literal["cosine", "linear"] = Field(default="cosine", description="How the rate falls to zero.")
    hold: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the run at the peak rate before it falls."
    )
    weight_decay: float = Field(default=0.01, ge=0, description="Decoupled decay of matrices.")
    beta2: float = Field(default=0.98, gt=0, lt=1, description="AdamW's second beta.")
    clip: float = Field(default=1.0, gt=0, description="Largest norm of a gradient.")
    ema: float = Field(default=0.9999, ge=0, lt=1, description="Decay of the averaged weights, warmed up.")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto",
        description="fp32, bf16 (with float32 weights), or auto: bf16 where the device has it in hardware.",
    )
    device: str | None = Field(default=None, description="cpu, cuda, ...; none: what accelerate finds.")
    find_batch: bool = Field(default=False, description="Halve the batch until it fits into memory.")
    seed: int = Field(default=0, ge=0, description="Seed of everything.")

    # What it reports and saves.
    log_every: int = Field(default=50, ge=1, description="Steps between log lines.")
    validate_every: int = Field(default=1000, ge=1, description="Steps between validations.")
    validate_size: int = Field(default=512, ge=1, description="Texts per validation.")
    sample_every: int = Field(default=1000, ge=1, description="Steps between free-running samples.")
    sample_size: int = Field(default=128, ge=1, description="Texts per free-running sample.")
    save_every: int = Field(default=1000, ge=1, description="Steps between saved states.")
    patience: int | None = Field(
        default=None,
        ge=1,
        description="Stop after this many validations (or samples, see --select) without a better one.",
    )
    select: Literal["bound", "accuracy"] = Field(
        default="accuracy",
        description="What makes a checkpoint the best: the bound, or free-running accuracy.",
    )
    milestones: tuple[int, ...] = Field(
        default=(), description="Steps after which the model is also saved to milestones/."
    )

    @field_validator("data", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        """A single folder is as good as a list of them."""
        return (value,) if isinstance(value, (str, Path)) else value

    @field_validator("backbone_layers", "milestones", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        """A number, or numbers with commas between them, are as good as a list."""
        values = value if isinstance(value, (list, tuple)) else (value,)
        return tuple(part for one in values for part in (one.split(",") if isinstance(one, str) else [one]))

    @model_validator(mode="after")
    def _sensible(self) -> TrainConfig:
        if self.max_tokens is not None and self.max_tokens > self.max_length:
            raise ValueError(f"max_tokens ({self.max_tokens}) exceeds max_length ({self.max_length})")
        if self.max_tokens is not None and self.max_tokens < self.min_tokens:
            raise ValueError("max_tokens is below min_tokens, so that no text would be left")
        if not self.denoising_weight and not self.head_batch:
            raise ValueError("heads that learn alone need head_batch: how many vectors a step takes")
        if self.wrong_words and not self.lexical_hidden:
            raise ValueError("wrong_words come from the lexical head: set lexical_hidden too")
        if self.groups > self.batch:
            raise ValueError("groups cannot exceed the batch")
        return self

    def lasting(self) -> dict[str, Any]:
        """The fields that decide what is learned: those that a resumed run must share."""
        return {k: v for k, v in self.model_dump(mode="json").items() if k not in FREE_ON_RESUME}
