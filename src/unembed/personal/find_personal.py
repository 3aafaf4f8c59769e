"""Personal data in texts, found by presidio-analyzer with spaCy's small English pipeline, offline."""

from __future__ import annotations

from collections.abc import Sequence

from unembed.personal.entities import Entity
from unembed.progress import Progress


def find_personal(texts: Sequence[str], *, progress: Progress | None = None) -> list[list[Entity]]:
    """The personal data of each text, in the order of the text, without overlaps."""
    raise NotImplementedError
