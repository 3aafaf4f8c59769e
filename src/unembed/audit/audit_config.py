"""What an audit can be told. A field's description is its command-line help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

ATTACKERS = ("vectors", "surrogate", "encoder", "pairs", "beginning")
DEFENCES = ("gaussian:sigma=0.02", "binary", "pca:removed=0.75", "rotation")
THRESHOLDS = ("exact", "f1", "pii", "canary")


class AuditConfig(BaseModel):
    """One audit of one store."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: int = Field(200, gt=0, description="Rows of the store to attack, drawn at random.")
    seed: int = Field(0, ge=0, description="Seed of the drawn rows, the decoding and the intervals.")
    text_field: str | None = Field(
        None, description="Field that holds the text which a vector was made of.  [default: the usual names]"
    )
    vector: str | None = Field(
        None, description="Vector field to read, where rows have several.  [default: the only one]"
    )
    encoder: str | None = Field(
        None,
        description="Encoder that made the vectors, where you know it.  [default: found out from the rows]",
    )
    model: str | None = Field(
        None,
        description="Model that inverts them: a folder or hub id, such as 'unembed adapt' writes.  "
        "[default: the bundled one]",
    )
    attackers: tuple[str, ...] = Field(
        (),
        description="Who attacks: all, or some of vectors, surrogate, encoder, pairs, beginning.  "
        "[default: whoever is possible here]",
    )
    calls: int = Field(
        200, ge=1, description="Encoder calls per vector of the attacker who has the encoder, at most."
    )
    guided_samples: int = Field(
        40,
        gt=0,
        description="Rows that this attacker is given: the first of the sample; he takes seconds a row.",
    )
    pairs: int = Field(
        2000, ge=50, description="Texts with their vectors that the attacker with pairs has, at most."
    )
    price: float | None = Field(
        None,
        ge=0,
        description="US dollars that the encoder's endpoint takes for a million tokens.  "
        "[default: a list price, where it is known]",
    )
    canaries: Path | None = Field(
        None,
        description="Planted sentences with secrets, as 'unembed canary' writes them: did they come back?",
    )
    fail_over: tuple[str, ...] = Field(
        (), description="Thresholds that must not be exceeded, e.g. exact=0.05,f1=0.5,pii=0.01,canary=0."
    )
    baseline: Path | None = Field(
        None, description="An earlier report.json: only what got worse since then fails."
    )
    defences: tuple[str, ...] = Field(
        DEFENCES,
        description="Defences to try on the sample, such as gaussian:sigma=0.02 or rotation; none: no such "
        "table.",
    )
    show_texts: bool = Field(
        False, description="Put full texts into report and rows; without it, words are blacked out."
    )
    timeout: float = Field(30.0, gt=0, description="Seconds that a store may take for one answer.")

    @field_validator("attackers")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        wanted = tuple(
            dict.fromkeys(part.strip() for name in names for part in name.split(",") if part.strip())
        )
        if wanted == ("all",):
            return ATTACKERS
        for name in wanted:
            if name not in ATTACKERS:
                raise ValueError(f"there is no attacker '{name}'; there are {', '.join(ATTACKERS)}, or all")
        return tuple(name for name in ATTACKERS if name in wanted)

    @field_validator("defences")
    @classmethod
    def _known_defences(cls, typed: tuple[str, ...]) -> tuple[str, ...]:
        from unembed.trials.settings_of_defences import NONE, all_settings, split_names

        names = tuple(name for part in typed for name in split_names(part))
        if names != (NONE,):
            all_settings(names)  # which names the unknown
        return names

    @field_validator("fail_over")
    @classmethod
    def _readable(cls, typed: tuple[str, ...]) -> tuple[str, ...]:
        parse_thresholds(typed)
        return typed

    @property
    def thresholds(self) -> dict[str, float]:
        """The largest value of each measure that passes."""
        return parse_thresholds(self.fail_over)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The attackers to look at; without a choice all of them, and what is impossible is left out."""
        return self.attackers or ATTACKERS

    def identity(self) -> dict[str, Any]:
        """What decides the rows of an audit: not what is only read off them."""
        return self.model_dump(mode="json", exclude={"fail_over", "baseline", "timeout", "price"})


def parse_thresholds(typed: tuple[str, ...]) -> dict[str, float]:
    """`exact=0.05,pii=0.01` as numbers."""
    out: dict[str, float] = {}
    for part in (part.strip() for one in typed for part in one.split(",") if part.strip()):
        name, sign, number = part.partition("=")
        if name not in THRESHOLDS or not sign:
            raise ValueError(f"'{part}' is not one of {', '.join(f'{name}=SHARE' for name in THRESHOLDS)}")
        try:
            value = float(number)
        except ValueError:
            raise ValueError(f"'{number}' in '{part}' is not a number") from None
        if not 0 <= value <= 1:
            raise ValueError(f"{part}: a share lies between 0 and 1")
        out[name] = value
    return out
