"""Texts with masks, as the denoiser reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from unembed.decode.base import PADDING
from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import MASK, Entries


def as_tokens(checkpoint: Checkpoint, texts: Sequence[Entries]) -> tuple[Tensor, Tensor]:
    """Texts with the model's own mask, padded to one length; and how many tokens the model sees of each.

    Where the model ends texts itself they are closed, and all of its length.  # [n, L], [n]
    """
    config, vocabulary = checkpoint.config.denoiser, checkpoint.vocabulary
    lengths = np.array([len(text) for text in texts])  # [n]
    entries = np.full((len(texts), lengths.max()), PADDING, dtype=np.int64)  # [n, longest]
    for row, text in enumerate(texts):
        entries[row, : len(text)] = text
    if vocabulary.fixed_length:
        entries = vocabulary.close(entries, lengths, config.max_length)
        lengths[:] = config.max_length
    device = checkpoint.denoiser.output_bias.device
    tokens = torch.from_numpy(np.where(entries == MASK, config.mask_id, entries))
    return tokens.to(device), torch.from_numpy(lengths).to(device)


def banned_entries(checkpoint: Checkpoint) -> list[int]:
    """Entries that no mask may become: the text's end is decided already."""
    vocabulary = checkpoint.vocabulary
    ends = [vocabulary.end, vocabulary.pad] if vocabulary.fixed_length else []
    return [vocabulary.unknown, *ends]
