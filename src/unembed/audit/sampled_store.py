"""The rows that an audit looks at: read once, kept beside the report until it is complete.

The first rows of the sample are attacked. Those behind them are the rest of the collection, as far as it
is needed: pairs for an adapter, other texts for the floors. Planted canaries are picked out while the pages
go by, since no sample of a million rows would hold them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unembed.canaries import Canary, planted
from unembed.errors import DataError
from unembed.progress import progress_bar
from unembed.storage import atomic_write, read_json, write_json
from unembed.stores.base import BATCH, Row, Store, StoreInfo
from unembed.stores.sampling import sample_rows
from unembed.vectors.arrays import Floats

LEAST_OTHERS = 1000  # further rows that are read for the floors, where nobody needs more
SAME_VECTOR = 0.999  # cosine of a sentence's vector as it was stored and as it is embedded now
_VECTORS, _ROWS = "sample-vectors.npz", "sample-rows.json"


@dataclass(frozen=True)
class Planted:
    """A canary that the store holds."""

    canary: Canary
    row: Row


@dataclass(frozen=True)
class SampledStore:
    """What was read of a store."""

    store: dict[str, Any]  # fields of the report's StoreSummary
    rows: tuple[Row, ...]  # to attack
    others: tuple[Row, ...]  # of the same collection
    planted: tuple[Planted, ...]
    metadata: dict[str, str]

    @property
    def has_texts(self) -> bool:
        return any(row.text for row in self.rows)


class _Watched:
    """A store whose pages are looked through for canaries on their way to the sample."""

    def __init__(self, store: Store, canaries: Sequence[Canary]) -> None:
        self._store, self._canaries = store, canaries
        self.found: dict[str, Planted] = {}  # by the canary's id

    def describe(self) -> StoreInfo:
        return self._store.describe()

    def count(self) -> int | None:
        return self._store.count()

    def scroll(self, batch: int = BATCH) -> Iterator[list[Row]]:
        for page in self._store.scroll(batch):
            left = [canary for canary in self._canaries if canary.id not in self.found]
            if left:
                for canary, number in zip(left, planted(left, [row.text or "" for row in page]), strict=True):
                    if number is not None:
                        self.found[canary.id] = Planted(canary, page[number])
            yield page

    def close(self) -> None:
        self._store.close()


def sample_store(
    store: Store, count: int, others: int, *, seed: int, canaries: Sequence[Canary] = (), quiet: bool = True
) -> SampledStore:
    """Draw rows to attack and `others` behind them, in one pass."""
    watched = _Watched(store, canaries)
    with progress_bar("Reading the store", total=store.count(), unit="rows", quiet=quiet) as progress:
        drawn = sample_rows(watched, count + max(others, LEAST_OTHERS), seed, progress=progress)
    info = store.describe()
    found = tuple(watched.found.values())
    secret = {one.row.id for one in found}
    usual = [row for row in drawn if row.id not in secret]
    return SampledStore(
        store=summary_fields(info),
        rows=tuple(usual[:count]),
        others=tuple(usual[count:]),
        planted=found,
        metadata=dict(info.metadata),
    )


def planted_by_vector(
    store: Store, canaries: Sequence[Canary], vectors: Floats, *, quiet: bool = True
) -> tuple[Planted, ...]:
    """The canaries of a store without texts: rows whose vectors are those of the sentences [n, D]."""
    wanted = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)  # [n, D]
    found: dict[str, Planted] = {}
    with progress_bar("Looking for canaries", total=store.count(), unit="rows", quiet=quiet) as progress:
        for page in store.scroll():
            progress.advance(len(page))
            rows = [row for row in page if row.vector.shape == wanted.shape[1:] and row.vector.any()]
            if not rows:
                continue
            there = np.stack([row.vector for row in rows])  # [m, D]
            cosine = wanted @ (there / np.linalg.norm(there, axis=1, keepdims=True)).T  # [n, m]
            for canary, column, value in zip(
                canaries, cosine.argmax(axis=1), cosine.max(axis=1), strict=True
            ):
                if value >= SAME_VECTOR and canary.id not in found:
                    found[canary.id] = Planted(canary, rows[int(column)])
    return tuple(found.values())


def summary_fields(info: StoreInfo) -> dict[str, Any]:
    """What the report says of a store."""
    return {
        "kind": info.kind,
        "address": info.address,
        "collection": info.collection,
        "count": info.count,
        "vector": info.vector.name,
        "dimension": info.vector.dimension,
        "dtype": info.vector.dtype,
        "metric": info.vector.metric,
        "text_field": info.text_field,
    }


def keep(folder: Path, sample: SampledStore) -> None:
    """Write a sample, so that an audit that goes on attacks the same rows, and reads no store twice."""
    rows = [*sample.rows, *sample.others, *(one.row for one in sample.planted)]
    lengths = {len(row.vector) for row in rows}
    # Rows of another dimension are rare and must not be lost: each width is an array of its own.
    arrays = {
        str(width): np.stack([row.vector for row in rows if len(row.vector) == width]) for width in lengths
    }
    with atomic_write(folder / _VECTORS) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's stub takes the arrays for its own flag
    write_json(
        folder / _ROWS,
        {
            "store": sample.store,
            "metadata": sample.metadata,
            "rows": [[row.id, len(row.vector), row.text] for row in rows],
            "attacked": len(sample.rows),
            "others": len(sample.others),
            "canaries": [vars(one.canary) for one in sample.planted],
        },
    )


def kept(folder: Path) -> SampledStore | None:
    """The sample that an earlier run of this audit drew, if it got so far."""
    if not (folder / _ROWS).exists():
        return None
    found = read_json(folder / _ROWS)
    try:
        with np.load(folder / _VECTORS, allow_pickle=False) as file:
            vectors = {name: iter(file[name]) for name in file.files}
        rows = [Row(name, next(vectors[str(width)]), text) for name, width, text in found["rows"]]
    except (OSError, ValueError, KeyError, StopIteration, json.JSONDecodeError) as error:
        raise DataError(
            f"{folder / _VECTORS} is damaged: {error}", hint="Delete the folder and run the audit again."
        ) from error
    attacked, others = found["attacked"], found["others"]
    return SampledStore(
        store=found["store"],
        rows=tuple(rows[:attacked]),
        others=tuple(rows[attacked : attacked + others]),
        planted=tuple(
            Planted(_canary(fields), row)
            for fields, row in zip(found["canaries"], rows[attacked + others :], strict=True)
        ),
        metadata=found["metadata"],
    )


def forget(folder: Path) -> None:
    """Remove what was kept: it holds texts and vectors."""
    for name in (_VECTORS, _ROWS):
        (folder / name).unlink(missing_ok=True)


def _canary(fields: dict[str, Any]) -> Canary:
    from unembed.canaries import CanaryKind

    return Canary(**{**fields, "kind": CanaryKind(fields["kind"])})
