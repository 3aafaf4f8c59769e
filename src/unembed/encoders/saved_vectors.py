"""Vectors of many texts, kept on disk chunk by chunk: what is embedded once is not embedded again.

Embedding is what takes time, or money where the encoder is an endpoint: finished chunks are kept, and the
same call goes on after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.base import Encoder
from unembed.errors import DataError
from unembed.progress import progress_bar
from unembed.storage import atomic_write, digest_json, folder_lock, settle_plan

CHUNK = 256  # texts that are embedded between two saves


def embed_saved(
    texts: Sequence[str], encoder: Encoder, folder: Path, *, kind: str = "vectors", quiet: bool = True
) -> NDArray[np.float32]:  # [N, D]
    """The encoder's vectors of these texts, kept in `folder`, which then holds these texts' and no others.

    `kind` is what the folder's plan calls them.
    """
    with folder_lock(folder):
        settle_plan(folder, {"kind": kind, "texts": digest_json(list(texts)), "encoder": encoder.info.digest})
        starts = range(0, len(texts), CHUNK)
        paths = [folder / f"vectors-{number:05d}.npy" for number in range(len(starts))]
        done = sum(
            min(CHUNK, len(texts) - start) for start, path in zip(starts, paths, strict=True) if path.exists()
        )
        with progress_bar("Embedding", total=len(texts), unit="texts", done=done, quiet=quiet) as progress:
            for start, path in zip(starts, paths, strict=True):
                if not path.exists():
                    some = texts[start : start + CHUNK]
                    vectors = encoder.encode(some)  # [n, D]
                    with atomic_write(path) as file:
                        np.save(file, vectors, allow_pickle=False)
                    progress.advance(len(some))
    empty = np.zeros((0, encoder.info.dimension), dtype=np.float32)
    return np.concatenate([empty, *(_load(path) for path in paths)])


def _load(path: Path) -> NDArray[np.float32]:
    try:
        vectors: NDArray[np.float32] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} is damaged: {error}", hint="Delete it: it is made again.") from error
    return vectors
