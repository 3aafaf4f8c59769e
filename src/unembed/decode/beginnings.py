"""How a text begins, where that is known: its first tokens are given, and only the rest is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unembed.decode.base import PADDING
from unembed.errors import UsageError
from unembed.invert_config import InvertConfig
from unembed.model.checkpoint import Checkpoint
from unembed.text import tokenise

Entries = tuple[int, ...]  # of the model's vocabulary


def check_beginnings(config: InvertConfig, vectors: Any, *, whole: bool) -> None:
    """Whether they can be used at all. whole: the strategy decodes a text from masks, and changes nothing."""
    given = config.beginnings
    if not whole:
        raise UsageError(
            f"The strategy '{config.strategy}' changes all of a text: it cannot be told how one begins.",
            hint="Leave out the beginning, or use another strategy.",
        )
    if isinstance(given, tuple) and hasattr(vectors, "__len__") and len(vectors) != len(given):
        raise UsageError(
            f"There are {len(given)} beginnings for {len(vectors)} vectors.",
            hint="Give one for all, or one per vector.",
        )


def beginnings_of(
    checkpoint: Checkpoint, given: str | tuple[str, ...], rows: Sequence[int], lengths: Tensor | None
) -> list[Entries]:
    """The beginnings of some of the vectors; one that leaves nothing to decode is an error.

    lengths: [n] of the same texts, where they are known
    """
    if isinstance(given, tuple) and rows and rows[-1] >= len(given):
        raise UsageError(
            f"There are {len(given)} beginnings, and more vectors than that.",
            hint="Give one for all, or one per vector.",
        )
    texts = [given] * len(rows) if isinstance(given, str) else [given[row] for row in rows]
    longest = checkpoint.denoiser.config.max_length
    allowed = [longest] * len(rows) if lengths is None else lengths.tolist()
    found = []
    for text, ids, length in zip(texts, tokenise(checkpoint.tokenizer, texts), allowed, strict=True):
        if len(ids) >= length:
            raise UsageError(
                f"The beginning '{text[:40]}' has {len(ids)} tokens, and the text at most {length}.",
                hint="Give fewer of the first words.",
            )
        found.append(tuple(checkpoint.vocabulary.encode(np.array(ids, dtype=np.int64)).tolist()))
    return found


def longer_than(logits: Tensor, beginnings: Sequence[Entries]) -> Tensor:
    """The length head's logits without lengths that leave nothing behind a beginning.

    logits: [n, max_length + 1]  # the same
    """
    known = torch.tensor([len(one) for one in beginnings])  # [n]
    length = torch.arange(logits.shape[1])
    return logits.masked_fill(length <= known[:, None], -torch.inf)


def start_from(beginnings: Sequence[Entries], lengths: Tensor, mask_id: int) -> Tensor:
    """Sequences of these lengths [B]: each one's beginning, then masks, then padding.  # [B, L]"""
    size = int(lengths.max()) if len(lengths) else 0
    start = torch.full((len(lengths), size), mask_id, dtype=torch.long)
    start.masked_fill_(torch.arange(size) >= lengths[:, None].cpu(), PADDING)
    for row, one in enumerate(beginnings):
        start[row, : len(one)] = torch.tensor(one, dtype=torch.long)
    return start.to(lengths.device)
