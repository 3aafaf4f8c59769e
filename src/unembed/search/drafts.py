"""Drafts as the model reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import MASK, Entries


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
