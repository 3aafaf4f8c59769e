"""All settings of a surrogate's training. A field's description is its option's help."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


class SurrogateTrainConfig(BaseModel):
    """Data, network and schedule of a surrogate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decay: ClassVar[str] = "linear"

    data: tuple[Path, ...] = Field(description="Prepared data; repeat for more than one folder.")
    output: Path = Field(description="Folder of the run; give the same one to resume.")
    start: str | None = Field(
        default=None,
        description="Start from the surrogate in this folder, which may have fewer --layers, or take the "
        "token vectors of this static encoder: potion. encoder: what the data's own encoder says of "
        "each token alone. None: random.",
    )
    source_alpha: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Sources (each label of each folder) are drawn by their size to this power: 1 by size, "
        "0 all alike.",
    )
    hidden: int = Field(default=256, ge=1, description="Width.")
    layers: int = Field(default=4, ge=1, description="Blocks.")
    heads: int = Field(default=8, ge=1, description="Attention heads.")
    ffn: int = Field(default=1024, ge=1, description="Feed-forward width.")
    max_tokens: int = Field(default=32, ge=1, description="Leave out longer texts.")
    batch: int = Field(default=256, ge=1, description="Texts per step.")
    groups: int = Field(default=8, ge=1, description="Groups per step, each of texts of one length.")
    steps: int = Field(default=10_000, ge=1, description="Updates in all.")
    learning_rate: float = Field(default=1e-3, gt=0, description="Peak rate.")
    warmup: int = Field(default=300, ge=0, description="Steps until the peak rate.")
    hold: float = Field(default=0.4, ge=0, lt=1, description="Share of the run at the peak rate.")
    weight_decay: float = Field(default=0.01, ge=0, description="Decoupled decay of matrices.")
    ema: float = Field(default=0.999, ge=0, lt=1, description="Decay of the averaged weights, warmed up.")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto",
        description="fp32, bf16 (with float32 weights), or auto: bf16 where the device has it in hardware.",
    )
    seed: int = Field(default=0, ge=0, description="Seed of everything.")
    log_every: int = Field(default=100, ge=1, description="Steps between log lines.")
    validate_every: int = Field(default=1000, ge=1, description="Steps between validations.")
    save_every: int = Field(default=1000, ge=1, description="Steps between saved states.")

    @field_validator("data", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, (str, Path)) else value

    def lasting(self) -> dict[str, Any]:
        """What a resumed run must share."""
        free = {"data", "output", "log_every", "validate_every", "save_every"}
        if self.precision == "auto":  # runs from before there was a choice have no such setting
            free.add("precision")
        return {k: v for k, v in self.model_dump(mode="json").items() if k not in free}
