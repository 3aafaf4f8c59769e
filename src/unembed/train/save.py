"""A checkpoint folder is replaced as a whole: a reader finds the old one or the new one."""

from __future__ import annotations

import shutil
from pathlib import Path

from unembed.model.checkpoint import Checkpoint


def save_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Write beside the old folder, then swap. A kill leaves one of the two whole."""
    fresh = folder.with_name(folder.name + ".partial")
    old = folder.with_name(folder.name + ".old")
    if old.exists() and not folder.exists():
        old.rename(folder)  # an earlier swap was cut in two
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        checkpoint.save_pretrained(fresh)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
