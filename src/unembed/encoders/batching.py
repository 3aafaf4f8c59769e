"""Texts of all lengths into flat batches of about the same number of tokens, without padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unembed.encoders.bert import Run
from unembed.errors import UsageError

# Texts that are tokenised and sorted by length together: enough to fill batches, little to hold.
TEXTS_AT_ONCE = 32768


class FlatBatch(NamedTuple):
    """Some texts' tokens one behind the other, shortest text first."""

    ids: NDArray[np.int64]  # [T]
    runs: list[Run]
    rows: NDArray[np.int64]  # [B]: which text each one is


def flat_batches(ids: Sequence[Sequence[int]], batch_tokens: int) -> Iterator[FlatBatch]:
    """Every text once, sorted by length, cut into batches of at most `batch_tokens` tokens.

    A text that is longer than that is a batch of its own.
    """
    if batch_tokens < 1:
        raise UsageError(f"batch_tokens must be at least 1, not {batch_tokens}.")
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))  # [N]
    order = np.argsort(lengths, kind="stable")
    ends = np.cumsum(lengths[order])  # [N]: tokens up to and including each text
    first, before = 0, 0
    while first < len(order):
        last = max(first + 1, int(np.searchsorted(ends, before + batch_tokens, side="right")))
        rows = order[first:last]
        flat = np.fromiter(chain.from_iterable(ids[row] for row in rows), dtype=np.int64)
        sizes, counts = np.unique(lengths[rows], return_counts=True)
        yield FlatBatch(flat, [Run(int(n), int(size)) for size, n in zip(sizes, counts, strict=True)], rows)
        first, before = last, int(ends[last - 1])


def pick_device(device: str | None) -> str:
    """The device that was asked for, else a GPU where there is one."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"torch cannot use the device '{device}': {str(error).splitlines()[0]}",
            hint="Choose another with --device, for example cpu.",
        ) from error
    return device
