"""How good the detector is: precision and recall on labelled texts, and the figures of this version."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unembed.errors import DataError, UsageError
from unembed.personal.entities import Entity, Kind
from unembed.personal.find_personal import find_personal
from unembed.progress import Progress
from unembed.storage import read_json

MEASURED = Path(__file__).parents[1] / "assets" / "personal-detector.json"
_Z = 1.96  # of a 95 % interval

# The labels of presidio-research's data sets. None: nothing that is told apart here, left out of the count.
LABELS: dict[str, Kind | None] = {
    "PERSON": Kind.NAME, "ADDRESS": Kind.LOCATION, "LOCATION": Kind.LOCATION, "STREET_ADDRESS": Kind.LOCATION,
    "GPE": Kind.LOCATION, "ZIP_CODE": Kind.LOCATION, "ORGANIZATION": Kind.ORGANISATION,
    "CREDIT_CARD": Kind.CARD, "DATE_TIME": Kind.DATE, "PHONE_NUMBER": Kind.PHONE, "EMAIL_ADDRESS": Kind.EMAIL,
    "DOMAIN_NAME": Kind.URL, "US_SSN": Kind.ID_NUMBER, "US_DRIVER_LICENSE": Kind.ID_NUMBER,
    "IBAN_CODE": Kind.IBAN, "IP_ADDRESS": Kind.IP, "AGE": Kind.NUMBER, "TITLE": None, "PREFIX": None,
    "NRP": None,
}  # fmt: skip


@dataclass(frozen=True)
class Labelled:
    """A text and what is personal in it, as somebody labelled it."""

    text: str
    entities: tuple[Entity, ...]
    ignored: tuple[tuple[int, int], ...] = ()  # spans of labels that are not counted


@dataclass(frozen=True)
class KindScore:
    """One kind: counts, and the shares that follow. A span counts as found if it overlaps one of its kind."""

    kind: Kind
    n: int  # labelled
    found: int  # of these, found as this kind
    noticed: int  # of these, found as any kind: what blackout covers at least in part
    predicted: int  # found as this kind
    right: int  # of these, labelled as this kind

    @property
    def recall(self) -> float | None:
        return self.found / self.n if self.n else None

    @property
    def precision(self) -> float | None:
        """None for bare numbers: the data label ages only, so the others cannot be judged."""
        if self.kind is Kind.NUMBER or not self.predicted:
            return None
        return self.right / self.predicted

    @property
    def f1(self) -> float | None:
        if self.precision is None or self.recall is None or not self.precision + self.recall:
            return None
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    def as_dict(self) -> dict[str, Any]:
        return {
            "n": self.n, "found": self.found, "noticed": self.noticed, "predicted": self.predicted,
            "right": self.right, "precision": self.precision, "recall": self.recall,
            "recall_interval": interval(self.found, self.n), "f1": self.f1,
        }  # fmt: skip


def interval(hits: int, n: int) -> tuple[float, float] | None:
    """Wilson's 95 % interval of a share; None of nothing."""
    if not n:
        return None
    share, z2 = hits / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def read_labelled(path: Path) -> list[Labelled]:
    """presidio-research's spans as JSON lines: {"text": ..., "spans": [[label, value, start, end], ...]}."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint="Give JSON lines with 'text' and 'spans'.")
    read: list[Labelled] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            record = json.loads(line)
            entities, ignored = [], []
            for label, value, start, end in record["spans"]:
                kind = LABELS.get(label)
                if kind is None:
                    ignored.append((int(start), int(end)))
                else:
                    entities.append(Entity(kind, value, int(start), int(end)))
            read.append(Labelled(record["text"], tuple(entities), tuple(ignored)))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}, line {number}, is no labelled text: {error}.") from error
    return read


def score_detector(
    labelled: Sequence[Labelled], *, progress: Progress | None = None
) -> dict[Kind, KindScore]:
    """Run the detector on labelled texts, and count by kind."""
    return count_found(labelled, find_personal([one.text for one in labelled], progress=progress))


def count_found(labelled: Sequence[Labelled], found: Sequence[Sequence[Entity]]) -> dict[Kind, KindScore]:
    """The counts of given findings."""
    counts: dict[str, Counter[Kind]] = {
        name: Counter() for name in ("n", "found", "noticed", "predicted", "right")
    }
    for one, predictions in zip(labelled, found, strict=True):
        for truth in one.entities:
            over = [guess for guess in predictions if _overlap(truth, guess.start, guess.end)]
            counts["n"][truth.kind] += 1
            counts["noticed"][truth.kind] += bool(over)
            counts["found"][truth.kind] += any(guess.kind is truth.kind for guess in over)
        for guess in predictions:
            truths = [truth for truth in one.entities if _overlap(truth, guess.start, guess.end)]
            if not truths and any(_overlap(guess, start, end) for start, end in one.ignored):
                continue
            counts["predicted"][guess.kind] += 1
            counts["right"][guess.kind] += any(truth.kind is guess.kind for truth in truths)
    return {kind: KindScore(kind, **{name: count[kind] for name, count in counts.items()}) for kind in Kind}


def measured_detector() -> dict[Kind, KindScore]:
    """What benchmarks/personal_detector.py measured for the detector of this version, by kind."""
    stored = read_json(MEASURED)["kinds"]
    fields = ("n", "found", "noticed", "predicted", "right")
    return {
        Kind(kind): KindScore(Kind(kind), **{f: score[f] for f in fields}) for kind, score in stored.items()
    }


def _overlap(entity: Entity, start: int, end: int) -> bool:
    return entity.start < end and start < entity.end
