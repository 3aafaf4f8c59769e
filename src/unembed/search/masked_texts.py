"""Texts with masks, as the denoiser reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import MASK, Entries


def as_tokens(checkpoint: Checkpoint, texts: Sequence[Entries]) -> Tensor:  # [n, L]
    """Texts of one length, with the model's own mask, and closed where the model ends texts itself."""
    config, vocabulary = checkpoint.config.denoiser, checkpoint.vocabulary
    entries = np.array(texts, dtype=np.int64)  # [n, length]
    if vocabulary.fixed_length:
        entries = vocabulary.close(entries, np.full(len(texts), entries.shape[1]), config.max_length)
    tokens = torch.from_numpy(np.where(entries == MASK, config.mask_id, entries))
    return tokens.to(checkpoint.denoiser.output_bias.device)


def banned_entries(checkpoint: Checkpoint) -> list[int]:
    """Entries that no mask may become: the text's end is decided already."""
    vocabulary = checkpoint.vocabulary
    ends = [vocabulary.end, vocabulary.pad] if vocabulary.fixed_length else []
    return [vocabulary.unknown, *ends]
