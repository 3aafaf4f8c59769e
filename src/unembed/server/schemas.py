"""Requests, answers and events; the OpenAPI document is made from these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, create_model, model_validator

from unembed.invert_config import MOST_OPTIONS, InversionOptions

Vector = Annotated[list[FiniteFloat], Field(min_length=1, max_length=8192)]
Text = Annotated[str, Field(min_length=1)]
OptionValue = (
    bool
    | int
    | Annotated[float, Field(allow_inf_nan=False)]
    | Annotated[str, Field(max_length=100)]
    | Annotated[list[int], Field(max_length=64)]
)


_MODEL = Field(None, max_length=200, description="One of /api/models; default: the first.")


# What a client may ask for at most; what is not here has the bounds that it has everywhere.
_BOUNDS: dict[str, Any] = {
    "steps": Field(le=256),
    "num_lengths": Field(le=32),
    "n_best": Field(le=10),
    "hypotheses": Field(le=64),
    "refine": Field(le=64),
    "guidance": Field(le=10),
    "shortlist": Field(le=100_000),
    "seed": Field(ge=-(2**53), le=2**53),  # whole numbers that every JSON parser reads exactly
}


def _bounded(name: str) -> tuple[Any, Any]:
    """A field of `InversionOptions` as it is, with a bound more."""
    field = InversionOptions.model_fields[name]
    kind: Any = Annotated[field.rebuild_annotation(), _BOUNDS[name]]
    return kind, Field(field.default, description=field.description)


if TYPE_CHECKING:
    _BoundedOptions = InversionOptions
else:
    _BoundedOptions = create_model(
        "_BoundedOptions", __base__=InversionOptions, **{name: _bounded(name) for name in _BOUNDS}
    )


class EncodeRequest(BaseModel):
    """Texts to encode."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = _MODEL
    texts: list[Text] = Field(min_length=1, max_length=1024)


class EncodeResponse(BaseModel):
    """One vector per text, in their order."""

    model: str
    encoder: str
    dimension: int
    vectors: list[list[float]]
    tokens: list[int] = Field(description="Each text's length in the model's tokens.")
    seconds: float


class InvertRequest(_BoundedOptions):
    """Vectors to invert, or texts for a round trip; and how.

    How is `InversionOptions`, within this server's bounds: a new field there is a new field here.
    """

    model: str | None = _MODEL
    vectors: list[Vector] | None = Field(None, min_length=1, max_length=1024)
    texts: list[Text] | None = Field(None, min_length=1, max_length=1024, description="Encoded first.")
    originals: list[Text] | None = Field(
        None,
        max_length=1024,
        description="The texts that the vectors were made of, to compare with; the model never sees them.",
    )
    lengths: list[Annotated[int, Field(ge=1, le=4096)]] | None = Field(
        None, max_length=1024, description="Tokens of each text, if known."
    )
    cosine: bool = Field(False, description="Encode what was recovered and compare the vectors.")

    # A client must not make the server load an encoder from anywhere.
    encoder: Literal["surrogate"] | None = Field(
        None, description="What guides a search: 'surrogate', or by default the model's own encoder."
    )
    options: dict[str, OptionValue] = Field(
        default_factory=dict,
        max_length=MOST_OPTIONS,
        description="The strategy's own options; see /api/models.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> InvertRequest:
        given = self.vectors if self.vectors is not None else self.texts
        if given is None or (self.vectors is not None and self.texts is not None):
            raise ValueError("give either vectors or texts")
        for name in ("originals", "lengths"):
            several = getattr(self, name)
            if several is not None and len(several) != len(given):
                raise ValueError(f"{len(several)} {name} for {len(given)} inputs")
        return self


class Piece(BaseModel):
    """One token as people read it."""

    text: str | None = Field(description="null where there is still a mask.")
    joined: bool = Field(False, description="Whether it follows the token before it without a space.")
    confidence: float | None = Field(None, description="Its probability when it was revealed.")


class Alternative(BaseModel):
    """Another text that the vector may stand for."""

    text: str
    score: float


class Comparison(BaseModel):
    """Original and recovered text; the definitions are docs/evaluation.md's."""

    token_accuracy: float
    token_f1: float
    exact: bool


class Recovered(BaseModel):
    """The text recovered from one vector."""

    index: int
    text: str
    pieces: list[Piece]
    tokens: list[int]
    score: float
    forward_passes: int
    length_known: bool
    alternatives: list[Alternative]
    comparison: Comparison | None = None
    cosine: float | None = Field(
        None, description="Between the recovered text's vector and the original's (or the one given)."
    )
    encoder_calls: int = Field(0, description="Texts that a guided search embedded to find this one.")


class Work(BaseModel):
    """What it took."""

    seconds: float = Field(description="Seconds in the model, shared with the rest of the batch.")
    waited: float = Field(description="Seconds in the queue.")
    position: int = Field(description="In the queue, on arrival: requests ahead.")
    batch: int = Field(description="Vectors that shared the forward passes.")


class InvertResponse(BaseModel):
    """One result per vector, in their order."""

    model: str
    strategy: str
    results: list[Recovered]
    warning: str | None = Field(None, description="Given if the vectors do not look like the encoder's.")
    work: Work


class StepEvent(BaseModel):
    """`event: step`: one vector at one candidate length, before the first step and after each."""

    index: int
    length: int
    step: int
    steps: int
    pieces: list[Piece]


class SearchEvent(BaseModel):
    """`event: search`: the nearest text of one vector after a round of a guided search."""

    index: int
    round: int = Field(description="0: the plain inversion's texts.")
    encoder_calls: int
    max_encoder_calls: int
    cosine: float
    text: str
    pieces: list[Piece]


class Strategy(BaseModel):
    """A strategy and its own options."""

    name: str
    summary: str
    options: dict[str, dict[str, Any]] = Field(description="JSON schema by option: type, default, bounds.")
    needs_encoder: bool = Field(
        False,
        description="Only for models with `can_encode`, or with `has_surrogate` and encoder: surrogate.",
    )


class Model(BaseModel):
    """A model that this server holds."""

    name: str
    encoder: str
    dimension: int
    max_length: int
    vocabulary: int
    parameters: int
    knows_length: bool = Field(description="Whether it ends texts by itself.")
    can_encode: bool = Field(description="Whether the model's encoder is on this server.")
    encoder_problem: str | None = Field(None, description="Why it is not.")
    has_surrogate: bool = Field(description="Whether a surrogate can guide searches instead.")


class Limits(BaseModel):
    """What this server refuses to exceed."""

    max_text: int
    max_vectors: int
    max_body: int
    max_encoder_calls: int = Field(description="Of a guided request, over all of its vectors.")
    search_seconds: float
    timeout: float


class ModelsResponse(BaseModel):
    """The models, strategies and limits of this server."""

    default: str
    models: list[Model]
    strategies: list[Strategy]
    limits: Limits
    version: str


class Health(BaseModel):
    """Ready or not, and how busy."""

    status: Literal["starting", "ok", "stopping"]
    version: str
    waiting: int
