"""Canaries on disk: JSON lines, CSV, or plain text for planting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unembed.canaries.make_canaries import Canary


def write_canaries(path: Path, canaries: Sequence[Canary]) -> None:
    """Write them by the file's suffix: .jsonl or .csv with the secrets, .txt with the sentences alone."""
    raise NotImplementedError


def read_canaries(path: Path) -> list[Canary]:
    """The canaries of a .jsonl or .csv file that `write_canaries` wrote."""
    raise NotImplementedError
