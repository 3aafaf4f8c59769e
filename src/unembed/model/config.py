"""What a denoiser is made of: one frozen description, stored beside its weights."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class BlockConfig(BaseModel):
    """A transformer block's shape. The defaults are the paper's; a pretrained backbone brings its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: int = Field(768, gt=0, description="Width of the blocks.")
    heads: int = Field(12, gt=0, description="Attention heads per block.")
    ffn: int = Field(3072, gt=0, description="Inner width of a block's feed-forward part.")
    norm: Literal["pre", "post"] = Field(
        "pre", description="Normalise before (GPT) or after (BERT) each part."
    )
    gated: bool = Field(False, description="Gated feed-forward (ModernBERT) instead of a plain one.")
    bias: bool = Field(True, description="Biases in linear layers and norms.")
    norm_eps: float = Field(1e-5, gt=0, description="Epsilon of the norms.")
    rotary: tuple[float, ...] = Field(
        (), description="Rotary base per layer (ModernBERT); empty means learned absolute positions."
    )
    first_norm: bool = Field(
        True, description="False where the first block has no attention norm (ModernBERT)."
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout inside the blocks.")

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> BlockConfig:
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        return self


class DenoiserConfig(BaseModel):
    """The conditional masked diffusion model: blocks, condition, heads."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vector_dim: int = Field(gt=0, description="Dimension of the vectors to invert.")
    native_dim: int | None = Field(
        None,
        gt=0,
        description="Dimension of the vectors that it learnt from, where an adapter maps others to them; "
        "None: vector_dim.",
    )
    vocabulary: int = Field(gt=0, description="Tokens that the model can predict; [MASK] comes on top.")
    max_length: int = Field(32, gt=0, description="Longest sequence in tokens.")
    layers: int = Field(8, gt=0, description="Number of blocks.")
    block: BlockConfig = BlockConfig()
    length: Literal["fixed", "given"] = Field(
        "fixed",
        description="fixed: end and padding are tokens like others, always max_length positions; "
        "given: exactly the text's positions, the length predicted by a head of its own.",
    )
    time_input: bool = Field(True, description="Tell the blocks the time t (the mask count says it too).")
    lexical_hidden: int = Field(
        0, ge=0, description="Hidden width of the lexical head (which words, anywhere); 0 for none."
    )
    length_hidden: int = Field(256, gt=0, description="Hidden width of the length head.")
    repeat_penalty: float = Field(
        0.0,
        ge=0,
        description="What a word that is already in the text loses, in nats, beyond what training taught. "
        "Training shows true words; a model that builds on its own words repeats them.",
    )
    memory: int = Field(
        0, ge=0, description="Likeliest words of the lexical head that the blocks attend to; 0 for none."
    )
    modulation_limit: float = Field(
        0.0,
        ge=0,
        description="How far the vector may scale and shift a norm at most; 0 for no bound. Without one, "
        "blocks that normalise last pass ever larger states on, until attention sees one token alone.",
    )
    head_transform: bool = Field(False, description="A dense layer and norm before the tied output (BERT's).")

    @model_validator(mode="after")
    def _memory_needs_words(self) -> DenoiserConfig:
        if self.repeat_penalty and not self.lexical_hidden:
            raise ValueError("repeat_penalty takes words back from the lexical head: set lexical_hidden too")
        if self.memory and not self.lexical_hidden:
            raise ValueError("memory takes its words from the lexical head: set lexical_hidden too")
        if self.block.rotary and len(self.block.rotary) != self.layers:
            raise ValueError("block.rotary needs one base per layer")
        return self

    @property
    def standard_dim(self) -> int:
        """Dimension of the standardised vector, which condition and heads read."""
        return self.native_dim or self.vector_dim

    @property
    def mask_id(self) -> int:
        """[MASK] is the one input that is never predicted: it comes after the vocabulary."""
        return self.vocabulary
