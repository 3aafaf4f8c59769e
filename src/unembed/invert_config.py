"""The options of an inversion. The command line, the server's schema and batch keys are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import Self

from unembed.errors import UsageError
from unembed.validation import one_line

Quality = Literal["fast", "balanced", "best"]
Ranking = Literal["auto", "score", "surrogate"]
PrecisionChoice = Literal["auto", "fp32", "bf16", "int8"]

DEFAULT_STRATEGY = "confidence"
MOST_OPTIONS = 64  # of a strategy, in one call
# The strategies that may reveal any number of tokens per pass; the others have numbers of steps of their own.
PARALLEL = frozenset({"confidence", "entropy-bound", "guided"})


class Effort(NamedTuple):
    """What a quality stands for; benchmarks/frontier.py measured them (docs/speed.md)."""

    steps: int
    num_lengths: int
    hypotheses: int
    shortlist: int
    refine: int  # with it, half of the steps are enough


QUALITIES: dict[Quality, Effort] = {
    "fast": Effort(steps=4, num_lengths=3, hypotheses=3, shortlist=1024, refine=0),
    "balanced": Effort(steps=8, num_lengths=3, hypotheses=3, shortlist=1024, refine=4),
    "best": Effort(steps=16, num_lengths=5, hypotheses=5, shortlist=0, refine=20),
}


class InversionOptions(BaseModel):
    """What decides which text a vector gives: the same options and vector, the same text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Names that fields had before; they are still read.
    OLD_NAMES: ClassVar[dict[str, str]] = {
        "candidates": "num_lengths",
        "reuse": "kv_cache",
    }

    strategy: str = Field(
        DEFAULT_STRATEGY,
        max_length=40,
        description="How to decode; docs/decoding.md compares the strategies.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, max_length=MOST_OPTIONS, description="The strategy's own options, by name."
    )
    encoder: str | None = Field(
        None,
        max_length=500,
        description="Encoder that guides a search: a name, a folder, or 'surrogate'. "
        "Default: the one that the model was trained for.",
    )
    quality: Quality = Field(
        "balanced",
        description="How much work a text is worth: sets steps, num_lengths, hypotheses and refine where "
        "they are not given. docs/speed.md has what each gains and costs.",
    )
    steps: int | None = Field(
        None,
        ge=1,
        description="Forward passes per length, at most one per token. Default: what the quality says, or "
        "the strategy's own number.",
    )
    n_best: int = Field(1, ge=1, description="Texts per vector.")
    hypotheses: int | None = Field(
        None,
        ge=1,
        description="Texts per vector among which the surrogate chooses. Default: what the quality says.",
    )
    refine: int | None = Field(
        None,
        ge=0,
        description="Rounds in which the surrogate reads texts a word or two away from the best one, no "
        "encoder call, no pass. Default: what the quality says; 0: the decoder's text stays.",
    )
    ranking: Ranking = Field(
        "auto",
        description="What chooses among a vector's hypotheses: the model's own score, or a surrogate of the "
        "encoder (no encoder call). auto: the surrogate where the model brings one.",
    )
    precision: PrecisionChoice = Field(
        "auto",
        description="Precision of matrix products on a CPU. auto: bf16 where the processor has it.",
    )
    num_lengths: int | None = Field(
        None,
        ge=1,
        description="Lengths to try where the length is not known. Default: what the quality says.",
    )
    guidance: float = Field(
        0.0,
        ge=0,
        allow_inf_nan=False,
        description="Classifier-free guidance: exaggerate what the vector says; doubles the passes.",
    )
    seed: int = Field(0, ge=-(2**63), lt=2**63, description="The same seed gives the same texts.")
    vector_noise: float = Field(
        0.0,
        ge=0,
        allow_inf_nan=False,
        description="Standard deviation of the noise in every number of the vectors, where it is known: it "
        "is taken off as well as can be before the model reads them.",
    )
    kv_cache: bool = Field(
        False, description="Faster: compute a revealed token's keys and values only once; approximate."
    )
    shortlist: int | None = Field(
        None,
        ge=0,
        description="Faster: after its first pass, keep only N words per text; 0: all. Approximate. Default: "
        "what the quality says.",
    )

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        out: dict[str, Any] = {}
        for name, value in values.items():
            current = cls.OLD_NAMES.get(str(name), str(name))
            if current in out:
                raise ValueError(f"{current} is given twice")
            out[current] = value
        return out

    def with_effort(self, strategy: str | None = None) -> Self:
        """The same with steps, lengths, hypotheses, ...: where not given, what the quality says.

        Steps stay None for a strategy with a number of its own.
        """
        usual = QUALITIES[self.quality]
        parallel = (strategy or self.strategy) in PARALLEL
        return self.model_copy(
            update={
                "steps": self.steps or (usual.steps if parallel else None),
                "num_lengths": self.num_lengths or usual.num_lengths,
                "hypotheses": self.hypotheses or usual.hypotheses,
                "refine": usual.refine if self.refine is None else self.refine,
                "shortlist": self.shortlist if self.shortlist is not None else usual.shortlist,
            }
        )

    @property
    def key(self) -> str:
        """Equal for two inversions that may share a batch: everything that decides a text."""
        return self.model_dump_json(include=set(InversionOptions.model_fields))


class InvertConfig(InversionOptions):
    """The same, with what one call of `Inverter.invert` also decides: lengths, batches, checks."""

    OLD_NAMES: ClassVar[dict[str, str]] = {**InversionOptions.OLD_NAMES, "batch": "batch_size"}

    lengths: int | tuple[int, ...] | None = Field(
        None, description="Tokens of the text, if known: one number, or one per vector."
    )
    beginnings: str | tuple[str, ...] | None = Field(
        None, description="First words of the text, if known: the same for all, or one per vector."
    )
    batch_size: int = Field(64, ge=1, description="Texts per forward pass.")
    trace: bool = Field(False, description="Keep the text before and after every step.")
    check: bool = Field(True, description="Warn of vectors that do not look like the encoder's.")
    bad_vectors: Literal["raise", "record"] = Field(
        "raise",
        description="A vector with NaN or infinity: raise an error, or record it and invert the others.",
    )

    def for_rows(self, start: int, stop: int | None = None) -> Self:
        """The same for some of the vectors: what is given one per vector is cut to them."""
        each = {name: getattr(self, name) for name in ("lengths", "beginnings")}
        return self.model_copy(
            update={name: given[start:stop] for name, given in each.items() if isinstance(given, tuple)}
        )

    @classmethod
    def of(cls, config: InvertConfig | None, fields: Mapping[str, Any]) -> Self:
        """A configuration with some fields changed. What is no field is an option of the strategy."""
        known = set(cls.model_fields) | set(cls.OLD_NAMES)
        values: dict[str, Any] = {} if config is None else config.model_dump()
        for name in fields:
            values.pop(cls.OLD_NAMES.get(name, name), None)
        options = {name: value for name, value in fields.items() if name not in known}
        chosen = {name: value for name, value in fields.items() if name in known}
        base = chosen.pop("options", values.pop("options", {}))
        both = sorted(set(base) & set(options))
        if both:
            raise UsageError(f"The option {both[0]} is given twice.")
        try:
            return cls(**{**values, **chosen, "options": {**base, **options}})
        except ValidationError as error:
            current = {cls.OLD_NAMES.get(name, name): name for name in fields}
            raise UsageError(one_line(error, current)) from error
