"""Server-sent events."""

from __future__ import annotations

import json
from typing import Any

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
COMMENT = b": still here\n\n"  # keeps idle connections open, and finds those that are gone


def event(name: str, data: dict[str, Any]) -> bytes:
    """One event; JSON has no raw line breaks, so one data line is enough."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n".encode()
