"""What a folder holds, so that a test can tell whether anything in it was changed."""

from __future__ import annotations

import hashlib
from pathlib import Path


def state_of(folder: Path | None) -> dict[str, tuple[str, int]]:
    """Every file with its digest and its time of change."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder else []
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files
    }
