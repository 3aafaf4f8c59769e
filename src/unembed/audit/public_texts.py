"""Texts that anybody has, as the store's encoder embeds them: the floor of who looks the nearest one up.

They are the sentences that come with the package for adapters. Embedding some thousand takes seconds, so that
the vectors stay in unembed's home folder, by the digest of encoder and texts.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from unembed.adaptation.default_texts import default_texts
from unembed.encoders import locations
from unembed.encoders.base import Encoder
from unembed.progress import progress_bar
from unembed.storage import atomic_write, digest_json
from unembed.vectors.arrays import Floats

COUNT = 4000  # the nearest of more is nearer, and takes longer to find
AT_ONCE = 256


@dataclass(frozen=True)
class PublicTexts:
    """Sentences and their vectors."""

    texts: list[str]
    vectors: Floats  # [m, D], of length 1


def public_texts(encoder: Encoder, *, quiet: bool = True) -> PublicTexts:
    """The first sentences that ship, embedded; from the home folder where they were embedded before."""
    texts = default_texts(COUNT, lambda some: [True] * len(some))
    name = digest_json([encoder.info.name, encoder.info.digest, texts])[:16]
    path = locations.home() / "public-texts" / f"{name}.npy"
    with suppress(OSError, ValueError):  # absent or damaged: made again
        vectors = np.load(path, allow_pickle=False)
        if vectors.shape == (len(texts), encoder.info.dimension):
            return PublicTexts(texts, vectors.astype(np.float32))
    with progress_bar("Public texts", total=len(texts), unit="texts", quiet=quiet) as progress:
        parts = []
        for first in range(0, len(texts), AT_ONCE):
            parts.append(encoder.encode(texts[first : first + AT_ONCE]))
            progress.advance(len(parts[-1]))
    vectors = unit(np.concatenate(parts))
    with suppress(OSError):  # a home that cannot be written costs the seconds again
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            np.save(file, vectors.astype(np.float16))
    return PublicTexts(texts, vectors)


def unit(vectors: Floats) -> Floats:
    """Of length 1; a zero stays one."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: Floats = (vectors / np.maximum(norms, np.float32(1e-12))).astype(np.float32)
    return out
