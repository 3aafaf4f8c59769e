"""What to measure. A field's description is its command-line help."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from unembed.invert_config import PrecisionChoice, Quality, Ranking
from unembed.metrics.causal import DEFAULT as DEFAULT_LM
from unembed.metrics.registry import METRICS, ON_REQUEST, check_names

DEFAULT_METRICS = tuple(name for name in METRICS if name not in ON_REQUEST)


class EvaluateConfig(BaseModel):
    """An evaluation of one model (the base), and the comparisons around it, one table each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    split: Literal["train", "validation", "test"] = Field(
        "test", description="Split of the data to measure on."
    )
    samples: int = Field(1000, gt=0, description="Texts to recover, drawn from the split.")
    min_tokens: int = Field(1, ge=1, description="Leave out shorter texts.")
    max_tokens: int | None = Field(None, ge=1, description="Leave out longer texts.")
    seed: int = Field(0, ge=0, description="Seed of the drawn texts, the decoding, the noise, the intervals.")
    strategy: str = Field("confidence", description="Decoding strategy.")
    quality: Quality = Field("balanced", description="How much work a text is worth, as in 'unembed invert'.")
    steps: int | None = Field(
        None,
        gt=0,
        description="Denoising steps per length.  [default: what the quality says, or the strategy's own]",
    )
    num_lengths: int | None = Field(
        None,
        gt=0,
        description="Lengths to try where the length is not known.  [default: what the quality says]",
    )
    ranking: Ranking = Field(
        "auto",
        description="What chooses among hypotheses: the model's score or its surrogate, where it has one.",
    )
    precision: PrecisionChoice = Field(
        "auto",
        description="Precision of matrix products on a CPU. auto: bf16 where the processor has it.",
    )
    known_length: bool = Field(
        False,
        description="Give the model the number of tokens, or let it predict it.  [default: unknown]",
    )
    metrics: tuple[str, ...] = Field(DEFAULT_METRICS, description=f"Some of: {', '.join(METRICS)}.")
    perplexity: str | None = Field(
        None, description="Causal language model: a hub id, a folder, a .gguf file, or smollm2."
    )
    strategies: tuple[str, ...] = Field(
        (), description="Compare decoding strategies: all, or names (table 2)."
    )
    remask: tuple[float, ...] = Field(
        (), description="Compare re-masking shares, e.g. 0,0.05,0.1,0.2 (table 3)."
    )
    noise: tuple[float, ...] = Field(
        (), description="Gaussian noise on the vectors, its length relative to theirs, e.g. 0,0.03,0.1,0.3."
    )
    encoder_calls: tuple[int, ...] = Field(
        (),
        description="Compare what a guided search finds within these numbers of encoder calls, "
        "e.g. 0,50,200,1000,5000.",
    )
    guide: str | None = Field(
        None,
        description="Encoder of the guided search: a name, a folder, surrogate.  [default: the data's own]",
    )
    search_option: tuple[str, ...] = Field(
        (), description="NAME=VALUE: an option of the guided search, e.g. gradient=10. Repeat for more."
    )
    denoising: tuple[float, ...] = Field(
        (), description="Denoising accuracy at these mask ratios: teacher-forced, not token accuracy."
    )
    words: tuple[int, ...] = Field(
        (), description="Word recall among so many likeliest words of the lexical head, e.g. 20,50."
    )
    lengths: bool = Field(False, description="Accuracy by text length.")
    floors: bool = Field(
        True, description="Random tokens, shuffled vectors and nearest training texts beside the model."
    )
    neighbours: int = Field(
        200_000, gt=0, description="Training texts to search for the nearest one, at most."
    )
    batch: int = Field(64, gt=0, description="Texts decoded at once; seconds per text depend on it.")

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return check_names(names)

    @field_validator("strategies")
    @classmethod
    def _known_strategies(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from unembed.decode.registry import DECODERS
        from unembed.strategies import make_strategy

        if names == ("all",):
            return tuple(DECODERS)  # those that need no encoder
        for name in names:
            make_strategy(name)
        return tuple(dict.fromkeys(names))

    @field_validator("encoder_calls")
    @classmethod
    def _budgets(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        if any(value < 0 for value in values):
            raise ValueError("a number of calls is 0 or more")
        return tuple(sorted(set(values)))

    @field_validator("search_option")
    @classmethod
    def _search_options(cls, typed: tuple[str, ...]) -> tuple[str, ...]:
        from unembed.decode.strategy_options import check_options, parse_options
        from unembed.search.settings import GuidedSettings

        options = parse_options(typed)
        if "max_encoder_calls" in options:
            raise ValueError("encoder calls are given with --encoder-calls")
        check_options("guided", GuidedSettings, options)
        return typed

    @field_validator("words")
    @classmethod
    def _numbers_of_words(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        if any(value < 1 for value in values):
            raise ValueError("a number of words is 1 or more")
        return tuple(sorted(set(values)))

    @field_validator("remask", "denoising")
    @classmethod
    def _shares(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 <= value <= 1 for value in values):
            raise ValueError("a share lies between 0 and 1")
        return tuple(dict.fromkeys(values))

    @field_validator("noise")
    @classmethod
    def _not_negative(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 <= value < float("inf") for value in values):
            raise ValueError("noise is 0 or more")
        return tuple(dict.fromkeys(values))

    @property
    def budget(self) -> int | None:
        """Encoder calls of a guided search; None is the strategy's own number."""
        return max(self.encoder_calls, default=None)

    @property
    def search_options(self) -> dict[str, Any]:
        """The guided search's options, as typed."""
        from unembed.decode.strategy_options import parse_options

        return dict(parse_options(self.search_option))

    @property
    def search_settings(self) -> dict[str, Any]:
        """All settings of the guided search, defaults included; its budget is the variant's."""
        from unembed.decode.strategy_options import check_options
        from unembed.search.settings import GuidedSettings

        settings = check_options("guided", GuidedSettings, self.search_options)
        return settings.model_dump(mode="json", exclude={"max_encoder_calls"})

    @property
    def language_model(self) -> str | None:
        """The causal model for perplexity, where that is asked for by either option."""
        return self.perplexity or (DEFAULT_LM if "perplexity" in self.metrics else None)

    @property
    def measured(self) -> tuple[str, ...]:
        """The metrics, with perplexity where there is a language model for it and only there."""
        plain = tuple(name for name in self.metrics if name != "perplexity")
        return (*plain, "perplexity") if self.language_model else plain
