"""Pairs of a text and its vector by the encoder to adapt to: embedded, or read from a file or a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unembed.data.collect import clean, collect
from unembed.data.config import CollectConfig
from unembed.data.sources import parse_source
from unembed.encoders.base import Encoder
from unembed.encoders.saved_vectors import embed_saved
from unembed.errors import DataError, UsageError
from unembed.model.checkpoint import Checkpoint
from unembed.progress import progress_bar
from unembed.storage import digest_json
from unembed.stores.registry import is_store_address, open_store
from unembed.stores.sampling import sample_rows
from unembed.vectors.files import open_vectors

SPARE = 4  # times as many texts are collected as are wanted: some are too long
LEAST = 50  # pairs; fewer fit nothing
LEAST_TOKENS = 3  # of a text
TEXT_FIELD = "text"  # of a record, unless another is named

Fits = Callable[[Sequence[str]], list[bool]]  # which texts the model can write


class Pairs(NamedTuple):
    """Texts and their vectors, and what identifies them."""

    texts: list[str]
    vectors: NDArray[np.float32]  # [n, D]
    digest: str


def writable_by(base: Checkpoint) -> Fits:
    """Whether texts are of lengths that the base can write."""
    longest = base.config.denoiser.max_length

    def fits(texts: Sequence[str]) -> list[bool]:
        found = base.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [LEAST_TOKENS <= len(one.ids) <= longest for one in found]

    return fits


def check_count(count: int) -> None:
    """Whether so many pairs can fit anything."""
    if count < LEAST:
        raise UsageError(
            f"An adapter cannot be fitted on {count} pairs: {LEAST} are the least.",
            hint="With the texts of the package: --pairs 1000. Without any: --pairs 0, for guided searches.",
        )


def choose_texts(source: str, count: int, folder: Path, fits: Fits, *, seed: int, quiet: bool) -> list[str]:
    """`count` texts of a source, drawn at random, each once, of those that fit."""
    settings = CollectConfig(source=(source,), limit=SPARE * count, pick="random", seed=seed)
    texts = [text for text, _ in collect(settings, folder, quiet=quiet)]
    chosen = [text for text, fit in zip(texts, fits(texts), strict=True) if fit][:count]
    if len(chosen) < min(LEAST, count):
        raise DataError(
            f"{source} has only {len(chosen)} texts that the model could write.",
            hint=f"Give a file with at least {LEAST} sentences, one a line.",
        )
    return chosen


def embed_pairs(texts: Sequence[str], encoder: Encoder, folder: Path, *, quiet: bool) -> Pairs:
    """The encoder's vectors of these texts, kept in `folder` chunk by chunk."""
    vectors = embed_saved(texts, encoder, folder, kind="pairs", quiet=quiet)
    return Pairs(list(texts), vectors, digest_json(list(texts)))


def read_pairs(
    source: str | Path,
    count: int,
    fits: Fits,
    *,
    text_field: str | None = None,
    vector_field: str | None = None,
    seed: int = 0,
    quiet: bool = True,
) -> Pairs:
    """Pairs that somebody has: a file with a text and a vector in each record, or the address of a store.

    Of a file the first pairs are taken that can be used, of a store they are drawn at random.
    """
    if is_store_address(str(source)):
        return _stored_pairs(
            str(source), count, fits, text_field=text_field, vector_field=vector_field, seed=seed, quiet=quiet
        )
    path, text_field = Path(source), text_field or TEXT_FIELD
    texts = [clean(text) for text in parse_source(str(path), field=text_field).texts()]
    file = open_vectors(path, field=vector_field)
    vectors = np.concatenate(list(file.blocks()))  # [N, D]
    if len(texts) != len(vectors):
        raise DataError(
            f"{path} has {len(texts):,} texts and {len(vectors):,} vectors.",
            hint=f"Every record needs both: the text in '{text_field}' (--text-field), and a vector.",
        )
    chosen = _usable(texts, vectors, count, fits, str(path))
    return Pairs([texts[row] for row in chosen], vectors[chosen], file.identity)


def _stored_pairs(
    address: str,
    count: int,
    fits: Fits,
    *,
    text_field: str | None,
    vector_field: str | None,
    seed: int,
    quiet: bool,
) -> Pairs:
    with closing(open_store(address, vector=vector_field, text_field=text_field)) as store:
        info = store.describe()
        if info.text_field is None:
            raise UsageError(
                f"{address}: which field holds the texts?",
                hint=f"Name it with --text-field: {', '.join(info.text_fields) or 'but it has none'}.",
            )
        with progress_bar("Reading", total=info.count, unit="rows", quiet=quiet) as progress:
            rows = sample_rows(store, SPARE * count, seed, progress=progress)
    rows = [row for row in rows if row.text]
    texts = [clean(row.text or "") for row in rows]
    vectors = np.stack([row.vector for row in rows]) if rows else np.empty((0, 1), np.float32)  # [N, D]
    chosen = _usable(texts, vectors, count, fits, address)
    some, found = [texts[row] for row in chosen], vectors[chosen]
    return Pairs(some, found, digest_json([some, sha256(found.tobytes()).hexdigest()]))


def _usable(
    texts: Sequence[str], vectors: NDArray[np.float32], count: int, fits: Fits, where: str
) -> NDArray[np.intp]:
    """The first `count` rows whose text can be written and whose vector is finite."""
    usable = np.isfinite(vectors).all(axis=1) & np.array(fits(texts), dtype=bool)  # [N]
    chosen: NDArray[np.intp] = usable.nonzero()[0][:count]
    if len(chosen) < LEAST:
        raise UsageError(
            f"{where} has {len(chosen)} pairs that can be used; {LEAST} are the least.",
            hint="Left out are texts longer than the model can write, and vectors that are not finite.",
        )
    return chosen
