"""What an audit found: the model behind report.json, from which every other format is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unembed.errors import DataError
from unembed.metrics.figure import Figure
from unembed.storage import read_json, write_json

FORMAT = 1
REPORT_NAME = "report.json"
Status = Literal["measured", "interrupted", "skipped"]
FloorName = Literal["shuffled", "nearest", "public"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSummary(Frozen):
    """The store, as it describes itself; no credentials."""

    kind: str
    address: str
    collection: str | None
    count: int | None = Field(description="Rows, where the store knows.")
    vector: str = Field(description="The vector field that was read.")
    dimension: int | None
    dtype: str
    metric: str | None
    text_field: str | None


class SampleSummary(Frozen):
    """The rows that were drawn, and what became of them."""

    asked: int
    drawn: int
    seed: int
    with_texts: bool = Field(description="Whether the store's own texts could be compared with.")
    short: int = Field(description="Rows that the model can write: these were attacked.")
    long: int = Field(description="Rows whose texts are longer than the model writes.")
    long_decided_by: Literal["texts", "vectors"]
    without_text: int = Field(0, description="Rows without a text, beside others that have one: left out.")
    unusable: int = Field(0, description="Rows with NaN, infinity or another dimension: left out.")
    other_encoder: int = Field(0, description="Rows of another encoder or another text: left out.")
    others: int = Field(0, description="Further rows that were read, for pairs and the nearest text.")


class EncoderFinding(Frozen):
    """Which encoder made the vectors, and how that is known."""

    name: str | None
    verdict: str = Field(description="given, identified, likely, mixed, wrong-texts or unknown.")
    sure: str
    preparation: str | None = Field(None, description="What was done to the texts before they were embedded.")
    says: tuple[str, ...] = Field((), description="What speaks for it, a sentence each.")


class ModelUsed(Frozen):
    """The inverter."""

    name: str
    digest: str
    encoder: str
    max_tokens: int
    calibrated: bool


class Floor(Frozen):
    """What is guessed without reading this row's vector."""

    name: FloorName
    label: str
    figure: Figure


class Measure(Frozen):
    """One rate, the floors beside it, and how far it is above the highest one."""

    name: Literal["exact", "f1", "words", "pii", "canary"]
    label: str
    figure: Figure
    floors: tuple[Floor, ...] = ()
    leaked: Figure = Field(description="Difference to the highest floor, row by row: what counts as leaked.")
    found: int | None = Field(None, description="How many came back, where things are counted.")
    total: int | None = Field(None, description="How many there were, where things are counted.")


class PersonalKind(Frozen):
    """One kind of personal data: how much of it came back."""

    kind: str
    total: int = Field(description="Pieces of this kind in the attacked texts.")
    found: int = Field(description="Pieces that came back whole.")
    part: int = Field(description="Names, places and organisations of which only some words came back.")
    guessed: float = Field(description="Pieces that the highest floor finds, on average.")
    figure: Figure
    leaked: Figure


class Estimate(Frozen):
    """Where the store has no texts: what the calibration expects."""

    exact: Figure | None = Field(description="Expected share that is right word for word.")
    f1: Figure | None = Field(description="Expected token F1.")
    cosine: Figure | None = Field(description="Recovered texts embedded again, to the store's vectors.")
    basis: str = Field(description="What the estimate rests on, or why there is none.")


class AttackerResult(Frozen):
    """One attacker: what he has, what it cost, what he got; or why he was not tried."""

    name: str
    title: str
    has: str
    status: Status
    reason: str | None = Field(None, description="Why he was skipped.")
    n: int = Field(0, description="Sampled rows that he attacked.")
    wanted: int = Field(0, description="Sampled rows that he was to attack.")
    attacked: int = Field(0, description="All rows that he attacked, canaries among them.")
    encoder_calls: int = Field(0, description="Texts that he embedded, for all rows together.")
    dollars: float | None = Field(None, description="What these cost at a paid endpoint.")
    seconds_per_vector: float | None = None
    measures: tuple[Measure, ...] = ()
    personal: tuple[PersonalKind, ...] = ()
    estimate: Estimate | None = None

    def measure(self, name: str) -> Measure | None:
        """One of the measures, by name."""
        return next((one for one in self.measures if one.name == name), None)


class WordsFound(Frozen):
    """Words that are read off the vectors of long texts, of the likeliest k."""

    k: int
    precision: Figure
    recall: Figure
    floor_precision: Figure | None = Field(description="Of the collection's commonest words.")
    floor_recall: Figure | None
    leaked: Figure | None = Field(description="Precision above that floor, row by row.")


class LongChunks(Frozen):
    """What can be told of texts longer than the model writes."""

    n: int
    median_tokens: int | None
    words: tuple[WordsFound, ...]
    names_found: int | None = Field(None, description="Names whose words are all among the likeliest 50.")
    names: int | None = None
    note: str


class Completion(Frozen):
    """What somebody gets of the rest who knows the first words of a text, beside the same without its
    vector.
    """

    long: bool = Field(description="Whether these are the texts that are longer than the model writes.")
    n: int
    given: float = Field(description="First words that he was given, on average.")
    measures: tuple[Measure, ...] = Field(description="All of them on the rest alone.")


class PersonalSummary(Frozen):
    """The personal data in the attacked texts, and who looked for it."""

    detector: str
    total: int
    kinds: dict[str, int]
    misses: str = Field(description="What the detector itself overlooks.")
    reason: str | None = Field(None, description="Why nothing was looked for.")


class CanarySummary(Frozen):
    """Planted sentences."""

    given: int
    planted: int = Field(description="Those that the store holds: these were attacked.")


class Piece(Frozen):
    """A word of an example, or what stands between words; None: blacked out, `width` letters wide."""

    text: str | None
    width: int
    same: bool | None = Field(None, description="Whether the word stands in both texts; None: no word.")


class Example(Frozen):
    """One row as an attacker sees it, words blacked out unless texts were asked for."""

    attacker: str
    row: str = Field(description="Its id in the store, hashed unless texts were asked for.")
    exact: bool
    f1: float
    original: tuple[Piece, ...]
    recovered: tuple[Piece, ...]


class GateFinding(Frozen):
    """One threshold that is exceeded, or a figure that got worse."""

    attacker: str
    measure: str
    value: float
    low: float | None
    limit: float | None
    before: float | None = None
    says: str


class Gate(Frozen):
    """Whether the audit passes."""

    thresholds: dict[str, float]
    baseline: str | None
    passed: bool
    findings: tuple[GateFinding, ...]


class DefenceRow(Frozen):
    """One defence: leakage left, against neighbours kept."""

    name: str
    setting: str
    leakage: Figure
    neighbours_kept: Figure


class Defences(Frozen):
    """What would help, as far as it was measured on this store."""

    note: str
    rows: tuple[DefenceRow, ...] = ()


class Identifier(Frozen):
    """A public catalogue's name for this weakness or this check."""

    id: str
    title: str
    url: str


class AuditReport(Frozen):
    """One audit. `report.json` holds it; the other formats render it and compute nothing."""

    format: int = Field(FORMAT, description="Version of this schema.")
    unembed: str = Field(description="Version of unembed.")
    created: str = Field(description="When, in UTC.")
    status: Literal["complete", "interrupted", "failed"]
    problem: str | None = Field(None, description="What ended an audit that is not complete.")
    store: StoreSummary
    sample: SampleSummary
    encoder: EncoderFinding
    model: ModelUsed | None
    headline: str
    attackers: tuple[AttackerResult, ...]
    long_chunks: LongChunks | None
    completions: tuple[Completion, ...] = Field((), description="By the attacker who knows a beginning.")
    personal: PersonalSummary | None
    canaries: CanarySummary | None
    examples: tuple[Example, ...]
    shows_texts: bool
    defences: Defences | None = None
    gate: Gate
    methods: tuple[str, ...]
    limits: tuple[str, ...]
    next_steps: tuple[str, ...]
    identifiers: tuple[Identifier, ...]
    settings: dict[str, Any]


def write_audit(folder: Path, report: AuditReport) -> None:
    """Write report.json."""
    write_json(folder / REPORT_NAME, report.model_dump(mode="json"))


def read_audit(path: str | Path) -> AuditReport:
    """A report.json, or the folder that holds one."""
    path = Path(path)
    path = path / REPORT_NAME if path.is_dir() else path
    try:
        return AuditReport.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path} is not the report of an audit: {where}: {first['msg']}.",
            hint=f"Give a {REPORT_NAME} that 'unembed audit' of this version wrote.",
        ) from error
