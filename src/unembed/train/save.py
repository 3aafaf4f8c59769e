"""A checkpoint folder is replaced as a whole: a reader finds the old one or the new one."""

from __future__ import annotations

import shutil
from pathlib import Path

from unembed.model.checkpoint import Checkpoint


def save_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Write beside the old folder, then swap. A kill in between leaves one of the two whole."""
    fresh = folder.with_name(folder.name + ".partial")
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    checkpoint.save_pretrained(fresh)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
