"""A sample that depends on the seed and the rows' ids alone: not on pages, nor on the order of rows.

Every id is hashed with the seed, and the rows with the smallest hashes are the sample (bottom-k sampling).
It takes one pass over the store, and memory for the sample and one page. A larger sample begins with the
smaller one.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from hashlib import blake2b

from unembed.errors import DataError, UsageError
from unembed.progress import Progress
from unembed.stores.base import Row, Store

_Key = tuple[int, int]  # of the id; of the whole row, where two rows have the same id


def sample_rows(store: Store, n: int, seed: int, *, progress: Progress | None = None) -> list[Row]:
    """`n` rows drawn at random, or all where there are fewer; in the order of their hashes.

    A row that a store hands out twice (same id, vector and text) counts once. `progress` is told how many
    rows have been read.
    """
    if n < 1:
        raise UsageError(f"A sample has at least one row, not {n}.")
    salt = blake2b(str(seed).encode(), digest_size=16).digest()
    kept: dict[_Key, Row] = {}
    heap: list[tuple[int, int]] = []  # negated keys: the largest that is kept comes first
    for page in store.scroll():
        for row in page:
            key = _id_key(row.id, salt)
            if len(heap) >= n and key > -heap[0][0]:
                continue
            whole = (key, _row_key(row, salt))
            if whole in kept:
                continue
            if len(heap) >= n:
                largest = (-heap[0][0], -heap[0][1])
                if whole > largest:
                    continue
                heapq.heapreplace(heap, (-whole[0], -whole[1]))
                del kept[largest]
            else:
                heapq.heappush(heap, (-whole[0], -whole[1]))
            kept[whole] = replace(row, vector=row.vector.copy())  # a view would keep the whole page
        if progress is not None:
            progress.advance(len(page))
    if not kept:
        raise DataError(
            f"{store.describe().address} holds no vectors.",
            hint="Is this the right collection, table or file?",
        )
    return [kept[key] for key in sorted(kept)]


def _id_key(name: str, salt: bytes) -> int:
    return int.from_bytes(
        blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest(), "big"
    )


def _row_key(row: Row, salt: bytes) -> int:
    found = blake2b(row.vector.tobytes(), digest_size=8, key=salt)
    found.update((row.text or "").encode("utf-8", "surrogatepass"))
    return int.from_bytes(found.digest(), "big")
