"""No defence: what everything else is compared with."""

from __future__ import annotations

from unembed.defences.base import DefenceInfo
from unembed.defences.method import Method


class Unprotected(Method):
    """The vectors as they are."""

    info = DefenceInfo(
        name="none",
        title="No defence",
        strength=None,
        strengths=(),
        secret=None,
        random=False,
        queries_too=False,
        needs_fit=False,
        source="-",
    )
