"""The settings of both stages of `unembed prepare`; a field's description is its option's help."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from unembed.encoders.registry import DEFAULT

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,20})*")


class CollectConfig(BaseModel):
    """Stage 1: which texts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: tuple[str, ...] = Field(
        default=(),
        description="Where texts come from: [LANG=]PATH or [LANG=]hub:DATASET[:CONFIG[:SPLIT]]; "
        "add #FIELD for this source's field. Repeat for more.",
    )
    quota: tuple[str, ...] = Field(
        default=(), description="LANG=N: keep at most N texts of this language. Repeat for more."
    )
    limit: int | None = Field(
        default=None, gt=0, description="Keep at most this many texts of each language without a quota."
    )
    field: str = Field(
        default="text", description="Field of a JSON line, or column of a Parquet file or hub dataset."
    )
    min_chars: int = Field(default=1, ge=1, description="Drop texts of fewer characters.")
    max_chars: int | None = Field(default=None, gt=0, description="Drop texts of more characters.")
    pick: Literal["first", "random"] = Field(
        default="first",
        description="Which texts fill a quota: the first ones (reads no further), or a random choice "
        "(reads everything).",
    )
    seed: int = Field(default=0, ge=0, lt=2**64, description="Seed of the order (and of the random choice).")

    @model_validator(mode="after")
    def _sensible_texts(self) -> CollectConfig:
        if self.max_chars is not None and self.max_chars < self.min_chars:
            raise ValueError("max_chars is below min_chars, so that no text would be kept")
        self.quotas()
        return self

    def quotas(self) -> dict[str, int]:
        """The quotas by language."""
        quotas = {}
        for entry in self.quota:
            language, _, number = entry.partition("=")
            if not LANGUAGE.fullmatch(language) or not number.isdecimal() or not int(number):
                raise ValueError(f"a quota is written LANG=N, for example en=100000; not '{entry}'")
            quotas[language] = int(number)
        return quotas


class EncodeConfig(BaseModel):
    """Stage 2: which encoder, in which tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str = Field(
        default=DEFAULT, description="Registry name, hub id or folder (see 'unembed encoders')."
    )
    tokenizer: str = Field(
        default="encoder",
        description="Tokenizer of the targets: 'encoder' for its own, a tokenizer.json, or a hub id (gpt2).",
    )
    seq_len: int = Field(default=32, gt=0, le=65_535, description="Cut texts after this many tokens.")
    min_tokens: int = Field(default=1, ge=1, description="Drop texts of fewer tokens.")
    max_tokens: int | None = Field(
        default=None, gt=0, description="Drop texts of more tokens, instead of cutting them."
    )
    validation_share: float = Field(default=0.01, ge=0, le=1, description="Share of texts for validation.")
    test_share: float = Field(default=0.01, ge=0, le=1, description="Share of texts for testing.")
    precision: Literal["fp32", "bf16"] = Field(
        default="fp32",
        description="fp32: exact vectors. bf16: training vectors are made faster where the processor has it, "
        "within 0.0002 of cosine 1; held-out ones stay exact.",
    )
    shard_size: int = Field(default=8192, gt=0, le=1_000_000, description="Texts per shard.")

    @model_validator(mode="after")
    def _sensible_tokens(self) -> EncodeConfig:
        if self.validation_share + self.test_share > 1:
            raise ValueError("the validation and test shares are more than everything")
        if self.min_tokens > self.seq_len:
            raise ValueError("min_tokens is above seq_len, so that no text would be kept")
        if self.max_tokens is not None and self.max_tokens < self.min_tokens:
            raise ValueError("max_tokens is below min_tokens, so that no text would be kept")
        return self


class PrepareConfig(CollectConfig, EncodeConfig):
    """Both stages in one go."""

    def collect(self) -> CollectConfig:
        return CollectConfig(**{name: getattr(self, name) for name in CollectConfig.model_fields})

    def encode(self) -> EncodeConfig:
        return EncodeConfig(**{name: getattr(self, name) for name in EncodeConfig.model_fields})
