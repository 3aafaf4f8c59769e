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

# What grows with a head's hidden width: the setting, and along which axis.
BY_WIDTH = {
    "lexical.up.weight": ("lexical_hidden", 0),
    "lexical.up.bias": ("lexical_hidden", 0),
    "lexical.down.weight": ("lexical_hidden", 1),
    "length_head.0.weight": ("length_hidden", 0),
    "length_head.0.bias": ("length_hidden", 0),
    "length_head.2.weight": ("length_hidden", 1),
}


@torch.no_grad()
def warm_start(denoiser: Denoiser, vocabulary: Vocabulary, source: Checkpoint) -> None:
    """Take over every weight of `source`; entries that it does not know keep their fresh start.

    A head that is wider than the source's begins as the same function: what is new in its first layer is
    drawn afresh, and nothing of it reaches the output yet.

    The statistics that vectors are standardised with come along: the weights were learned behind them.
    """
    mine, theirs = denoiser.state_dict(), source.denoiser.state_dict()
    known, there = _shared_entries(vocabulary, source.vocabulary)
    for name, whole in mine.items():
        other, tensor = theirs.get(name), whole
        if name in BY_WIDTH and other is not None:
            setting, axis = BY_WIDTH[name]
            tensor = _old_units(whole, axis, getattr(source.denoiser.config, setting))
        by_entry = name in BY_ENTRY
        if other is None or other.shape[by_entry:] != tensor.shape[by_entry:]:
            raise _does_not_fit(name, other, tensor)
        if not by_entry:
            tensor.copy_(other)
            continue
        tensor[known] = other[there]
        if name == "token.weight":
            tensor[-1] = other[-1]


def _old_units(tensor: Tensor, axis: int, width: int) -> Tensor:
    """Of a head's tensor the part that a narrower one fills, a view; new units do not reach the output."""
    if axis == 1:
        tensor[:, width:] = 0.0
    return tensor[:, :width] if axis else tensor[:width]


def _shared_entries(mine: Vocabulary, theirs: Vocabulary) -> tuple[Tensor, Tensor]:
    """Indices of the same token in both."""
    _, here, there = np.intersect1d(mine.token_ids, theirs.token_ids, return_indices=True)
    return torch.from_numpy(here), torch.from_numpy(there)


def _does_not_fit(name: str, theirs: Tensor | None, mine: Tensor) -> MismatchError:
    return MismatchError(
        f"The model to start from does not fit: {name} is {_shape(theirs)}, not {_shape(mine)}.",
        hint="Give the same model settings (layers, width, heads, max_length) as that model's. "
        "Only the lexical and the length head may be wider.",
    )


def _shape(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "x".join(map(str, tensor.shape)) or "a number"
