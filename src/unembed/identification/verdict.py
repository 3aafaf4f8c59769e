"""What an identification says: the verdict, what speaks for it, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """What can be said."""

    IDENTIFIED = "identified"  # texts embedded again give these vectors
    LIKELY = "likely"  # the statistics fit one known encoder and no other
    MIXED = "mixed"  # vectors of more than one encoder
    WRONG_TEXTS = "wrong-texts"  # the vectors are a known encoder's, but not of these texts
    UNKNOWN = "unknown"  # nothing known fits: no claim


@dataclass(frozen=True)
class Evidence:
    """One observation, in a sentence and as a number where there is one."""

    name: str  # "dimension", "norms", "statistics", "cosine", ...
    says: str
    value: float | None = None


@dataclass(frozen=True)
class Candidate:
    """One encoder, and what was done to texts and vectors, as far as it fits."""

    encoder: str
    share: float  # of the rows that were compared, how many fit
    cosine: float | None = None  # median over those rows; None: no texts were compared
    preparation: str | None = None  # what was done to the text first: "prefix 'query: '", ...
    truncated_from: int | None = None  # the encoder's dimension, where only the first numbers were kept


@dataclass(frozen=True)
class Identification:
    """Which encoder made the vectors, or that it is not known."""

    verdict: Verdict
    encoder: (
        str | None
    )  # what load_encoder() takes; of the largest share where they are mixed; None: not known
    candidates: tuple[Candidate, ...]  # those that fit, by share
    confidence: float  # that the verdict is right, 0 to 1; 0 where nothing is claimed
    sure: str  # the same in words: "certain", "very likely", ..., "no claim"
    derived: str  # how the confidence comes about
    evidence: tuple[Evidence, ...]
    by_texts: bool  # whether texts decided
    rows: int  # vectors looked at
    compared: int  # rows whose texts were embedded
    dimension: int
    normalised: bool  # every vector has length 1
    rounding: str | None  # "float16", "int8", ...; None: full precision

    @property
    def claimed(self) -> bool:
        """Whether anything is said of what made the vectors."""
        return self.verdict is not Verdict.UNKNOWN
