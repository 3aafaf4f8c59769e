"""What to put on trial. A field's description is its command-line help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

ATTACKERS = ("unaware", "aware", "columns", "pairs", "encoder")


class TrialsConfig(BaseModel):
    """Defences, who attacks them, and what their cost is measured on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    defences: tuple[str, ...] = Field(
        (),
        description="Measure defences, what they leave to attackers and what they cost: all, or names such "
        "as gaussian (all its strengths) or gaussian:sigma=0.01.",
    )
    retrieval: tuple[Path, ...] = Field(
        (),
        description="With --defences: folder in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv) to "
        "measure nDCG@10 and recall@10 on. Repeat for more.",
    )
    sts: Path | None = Field(
        None,
        description="With --defences: file of 'score TAB sentence TAB sentence' for Spearman's correlation.",
    )
    against: tuple[str, ...] = Field(
        ATTACKERS,
        description="With --defences: who attacks, some of unaware, aware, columns, pairs, encoder.  "
        "[default: all]",
    )
    known_pairs: tuple[int, ...] = Field(
        (100, 1000, 5000),
        description="With --defences: numbers of known texts of the defended vectors that attackers have.",
    )
    guided_samples: int = Field(
        24,
        gt=0,
        description="With --defences: texts for the attacker with the encoder; he takes seconds each.",
    )
    first_samples: int = Field(
        100,
        gt=0,
        description="With --defences: so many texts on every defence first, then the rest: a run that is "
        "interrupted has a whole table.",
    )
    guided_calls: int = Field(
        200, gt=0, description="With --defences: encoder calls per text of that attacker."
    )

    @field_validator("defences")
    @classmethod
    def _known_defences(cls, typed: tuple[str, ...]) -> tuple[str, ...]:
        from unembed.trials.settings_of_defences import all_settings

        all_settings(typed)  # which names the unknown
        return typed

    @field_validator("against")
    @classmethod
    def _known_attackers(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        wanted = ATTACKERS if names == ("all",) else names
        for name in wanted:
            if name not in ATTACKERS:
                raise ValueError(f"there is no attacker '{name}'; there are {', '.join(ATTACKERS)}, or all")
        return tuple(name for name in ATTACKERS if name in wanted)

    @field_validator("known_pairs")
    @classmethod
    def _enough(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        from unembed.adaptation.pairs import LEAST

        if any(count < LEAST for count in counts):
            raise ValueError(f"an adapter needs {LEAST} pairs")
        return tuple(sorted(set(counts)))

    @property
    def most_pairs(self) -> int:
        """Pairs that the best-informed attacker has; and texts of their own that others have."""
        return max(self.known_pairs, default=5000)

    def identity(self) -> dict[str, Any]:
        """What decides rows that are there: not which defences and attackers there are besides."""
        return {"guided_calls": self.guided_calls, "most_pairs": self.most_pairs}
