"""Start from a trained model: the next stage of a curriculum, or another corpus for the same encoder."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unembed.errors import MismatchError
from unembed.model.checkpoint import Checkpoint
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary

# One row per vocabulary entry: matched by token. [MASK], the token embedding's last row, stays the last.
BY_ENTRY = ("token.weight", "output_bias", "lexical.down.weight", "lexical.down.bias", "words_left.used_word")


@torch.no_grad()
def warm_start(denoiser: Denoiser, vocabulary: Vocabulary, source: Checkpoint) -> None:
    """Take over every weight of `source`; entries that it does not know keep their fresh start.

    The statistics that vectors are standardised with come along: the weights were learned behind them.
    """
    mine, theirs = denoiser.state_dict(), source.denoiser.state_dict()
    known, there = _shared_entries(vocabulary, source.vocabulary)
    for name, tensor in mine.items():
        other = theirs.get(name)
        if other is None or (name not in BY_ENTRY and other.shape != tensor.shape):
            raise MismatchError(
                f"The model to start from does not fit: {name} is {_shape(other)}, not {_shape(tensor)}.",
                hint="Give the same model settings (layers, width, heads, max_length) as that model's.",
            )
        if name not in BY_ENTRY:
            tensor.copy_(other)
            continue
        tensor[known] = other[there]
        if name == "token.weight":
            tensor[-1] = other[-1]


def _shared_entries(mine: Vocabulary, theirs: Vocabulary) -> tuple[Tensor, Tensor]:
    """Indices of the same token in both."""
    _, here, there = np.intersect1d(mine.token_ids, theirs.token_ids, return_indices=True)
    return torch.from_numpy(here), torch.from_numpy(there)


def _shape(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "x".join(map(str, tensor.shape)) or "a number"
