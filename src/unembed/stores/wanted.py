"""What a store is opened with, besides its address."""

from __future__ import annotations

from dataclasses import dataclass

from unembed.stores.base import TIMEOUT


@dataclass(frozen=True)
class Wanted:
    """Which fields are to be read, and how long a server may take for one answer."""

    vector: str | None = None
    text_field: str | None = None
    timeout: float = TIMEOUT
