"""Drafts as the model reads them, and as people do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.model.checkpoint import Checkpoint
from unembed.model.phrases import Phrases
from unembed.search.edits import MASK, Entries

_T = TypeVar("_T")


def at(values: Sequence[_T], places: Sequence[int]) -> list[_T]:
    """Those at these places."""
    return [values[place] for place in places]


def read_texts(checkpoint: Checkpoint, drafts: Sequence[Sequence[Entries]]) -> list[list[str]]:
    """The texts of several lists of drafts, all of them read together."""
    read = iter(checkpoint.texts([entries for some in drafts for entries in some]))
    return [[next(read) for _ in some] for some in drafts]


def said(phrases: Phrases, drafts: Sequence[Entries]) -> NDArray[np.float32]:
    """How likely drafts without masks are by their phrases, in nats: each word more costs some.  # [n]"""
    return np.array(phrases.log_probs(drafts), dtype=np.float32)


def as_tokens(checkpoint: Checkpoint, drafts: Sequence[Entries]) -> Tensor:  # [n, L]
    """Drafts of one length, with the model's own mask, and closed where the model ends texts itself."""
    config, vocabulary = checkpoint.config.denoiser, checkpoint.vocabulary
    entries = np.array(drafts, dtype=np.int64)  # [n, length]
    if vocabulary.fixed_length:
        entries = vocabulary.close(entries, np.full(len(drafts), entries.shape[1]), config.max_length)
    tokens = torch.from_numpy(np.where(entries == MASK, config.mask_id, entries))
    return tokens.to(checkpoint.denoiser.output_bias.device)


def never_written(checkpoint: Checkpoint) -> list[int]:
    """Entries that no mask of a draft may become: where it ends is decided already."""
    vocabulary = checkpoint.vocabulary
    ends = [vocabulary.end, vocabulary.pad] if vocabulary.fixed_length else []
    return [vocabulary.unknown, *ends]
