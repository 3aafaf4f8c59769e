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

# What grows with the lexical head's hidden width.
WIDENED = ("lexical.up.weight", "lexical.up.bias", "lexical.down.weight")


@torch.no_grad()
def warm_start(denoiser: Denoiser, vocabulary: Vocabulary, source: Checkpoint) -> None:
    """Take over every weight of `source`; entries that it does not know keep their fresh start.

    A lexical head that is wider than the source's begins as the same function: what is new in its first
    layer is drawn afresh, and nothing of it reaches a word yet.

    The statistics that vectors are standardised with come along: the weights were learned behind them.
    """
    mine, theirs = denoiser.state_dict(), source.denoiser.state_dict()
    known, there = _shared_entries(vocabulary, source.vocabulary)
    width = source.denoiser.config.lexical_hidden
    for name, tensor in mine.items():
        other = theirs.get(name)
        if name in WIDENED and other is not None and width < denoiser.config.lexical_hidden:
            if name == "lexical.down.weight":
                tensor[:, width:] = 0.0
            # The old units' part, a view: [V, width] of the second layer, [width, ...] of the first.
            tensor = tensor[:, :width] if name == "lexical.down.weight" else tensor[:width]
        if other is None or (name not in BY_ENTRY and other.shape != tensor.shape):
            raise _does_not_fit(name, other, tensor)
        if name in BY_ENTRY and other.shape[1:] != tensor.shape[1:]:
            raise _does_not_fit(name, other, tensor)
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


def _does_not_fit(name: str, theirs: Tensor | None, mine: Tensor) -> MismatchError:
    return MismatchError(
        f"The model to start from does not fit: {name} is {_shape(theirs)}, not {_shape(mine)}.",
        hint="Give the same model settings (layers, width, heads, max_length) as that model's. "
        "Only the lexical head may be wider.",
    )


def _shape(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "x".join(map(str, tensor.shape)) or "a number"
