"""Fresh inversions: where a search refits its map, the target is decoded again through the map as it is now.

Edits only change the texts that the search has. What the target says by a better map may be another text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from unembed.decode.invert_batch import invert_batch
from unembed.decode.registry import make_decoder
from unembed.invert_config import InvertConfig
from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import Entries
from unembed.search.search_state import SearchState

FRESH = "fresh"  # what a proposal of this kind is made by


@dataclass(frozen=True)
class FreshInversions:
    """Decodes the targets of all states together, as the search's first texts were decoded."""

    checkpoint: Checkpoint  # given standardised vectors
    config: InvertConfig

    def texts(self, states: Sequence[SearchState]) -> list[list[Entries]]:
        """The likeliest texts of each state's target, by its map."""
        if not states:
            return []
        known = [state.length for state in states if state.length is not None]
        found = invert_batch(
            self.checkpoint,
            np.stack([state.aim for state in states]),
            torch.tensor(known) if known else None,
            make_decoder(),
            self.config,
        )
        out = []
        for state, one in zip(states, found, strict=True):
            state.forward_passes += one.forward_passes
            tokens = [one.tokens, *(other.tokens for other in one.alternatives)]
            out.append([as_entries(self.checkpoint, some) for some in tokens])
        return out


def as_entries(checkpoint: Checkpoint, tokens: Sequence[int]) -> Entries:
    """The tokenizer's ids as entries of the model's vocabulary."""
    return tuple(checkpoint.vocabulary.encode(np.array(tokens, dtype=np.int64)).tolist())
