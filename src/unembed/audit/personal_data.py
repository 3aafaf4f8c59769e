"""The personal data in the texts of an audit: found once, for all attackers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unembed.audit.audit_report import PersonalSummary
from unembed.audit.case import Case
from unembed.errors import MissingExtraError
from unembed.personal import Entity, find_personal
from unembed.personal.detector_score import measured_detector
from unembed.progress import progress_bar

DETECTOR = "presidio-analyzer with spaCy's small English pipeline, and rules of unembed"


class PersonalData:
    """What was found in the attacked texts and in the long ones."""

    def __init__(self, case: Case, *, quiet: bool = True) -> None:
        self.entities: dict[int, list[Entity]] | None = None  # of the attacked texts, by target
        self.long: list[list[Entity]] | None = None  # of each long text
        self.summary: PersonalSummary | None = None
        if not case.with_texts:
            return
        short = [number for number in case.usual if case.targets[number].text]
        texts = [case.targets[number].text or "" for number in short]
        long = [row.text or "" for row in case.long]
        try:
            found = _find([*texts, *long], quiet=quiet)
        except MissingExtraError as error:
            reason = f"{error.message} {error.hint or ''}".strip()
            self.summary = PersonalSummary(detector=DETECTOR, total=0, kinds={}, misses="", reason=reason)
            return
        self.entities = dict(zip(short, found[: len(texts)], strict=True))
        self.long = list(found[len(texts) :])
        kinds = Counter(one.kind.value for some in self.entities.values() for one in some)
        self.summary = PersonalSummary(
            detector=DETECTOR, total=kinds.total(), kinds=dict(kinds.most_common()), misses=_misses(kinds)
        )


def _misses(kinds: Counter[str]) -> str:
    """How much of the kinds that were found here the detector overlooks, as it was measured."""
    scores = measured_detector()
    told = [
        f"{score.recall:.0%} of the kind {kind.value}"
        for kind, score in scores.items()
        if kind.value in kinds and score.recall is not None and score.n >= 20
    ]
    if not told:
        return "The detector of personal data overlooks some and takes other words for it."
    return (
        "The detector of personal data overlooks some: on labelled sentences of another source it finds "
        f"{', '.join(told)}. The counts here are of what it found."
    )


def _find(texts: Sequence[str], *, quiet: bool) -> list[list[Entity]]:
    with progress_bar("Personal data", total=len(texts), unit="texts", quiet=quiet) as progress:
        return find_personal(texts, progress=progress)
