"""A checkpoint folder is replaced as a whole: a reader finds the old one or the new one."""

from __future__ import annotations

from pathlib import Path

from unembed.model.checkpoint import Checkpoint
from unembed.storage import atomic_folder


def save_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Write beside the old folder, then swap."""
    with atomic_folder(folder) as fresh:
        checkpoint.save_pretrained(fresh)
