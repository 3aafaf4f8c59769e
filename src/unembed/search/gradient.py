"""Substitutions that a white-box encoder's gradient proposes (as HotFlip, Ebrahimi et al. 2018, does).

To first order, replacing word w by v changes the cosine by `(E[v] - E[w]) . gradient`. That says
nothing about language: only words that the denoiser's lexical head finds likely for the target compete.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.encoders.base import TokenGradients, WhiteBox
from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import Entries
from unembed.search.search_state import Hypothesis

LIKELY = 300  # words that compete for a position


class Substitutions:
    """Which words to change in which texts, the largest expected gain first."""

    def __init__(self, checkpoint: Checkpoint, encoder: WhiteBox) -> None:
        self._checkpoint = checkpoint
        self._encoder = encoder
        ids = checkpoint.vocabulary.token_ids
        self._words = encoder.word_vectors[np.maximum(ids, 0)]  # [V, D] of the model's entries
        self._usable = torch.from_numpy(ids >= 0)

    @torch.no_grad()
    def likely(self, target: NDArray[np.float32]) -> NDArray[np.int64]:
        """Entries that the lexical head expects in the target's text; all, where there is no such head."""
        denoiser = self._checkpoint.denoiser
        if denoiser.lexical is None:
            return np.nonzero(self._usable.numpy())[0]
        device = denoiser.output_bias.device
        e = denoiser.standardise(torch.from_numpy(target[None]).to(device))
        logits = denoiser.lexical(e)[0].cpu().masked_fill(~self._usable, -torch.inf)  # [V]
        found: NDArray[np.int64] = logits.topk(min(LIKELY, int(self._usable.sum()))).indices.numpy()
        return found

    def gradients(self, parents: Sequence[Hypothesis], targets: NDArray[np.float32]) -> list[TokenGradients]:
        """The gradients at these texts: one encoder call per text."""
        return self._encoder.token_gradients([parent.text for parent in parents], targets)

    def best(
        self, parent: Hypothesis, at_text: TokenGradients, likely: NDArray[np.int64], count: int
    ) -> list[Entries]:
        """The `count` substitutions of one word with the largest expected gain."""
        # A text whose words the encoder splits otherwise than the model cannot be matched word by word.
        if self._checkpoint.vocabulary.decode(parent.entries) != at_text.ids.tolist():
            return []
        own = self._words[list(parent.entries)]  # [L, D]
        gain = at_text.gradient @ self._words[likely].T - (at_text.gradient * own).sum(axis=1, keepdims=True)
        flat = np.argsort(-gain, axis=None, kind="stable")[: count + len(parent.entries)]
        out = []
        for position, column in zip(*np.unravel_index(flat, gain.shape), strict=True):
            entry = int(likely[column])
            if entry != parent.entries[position]:
                out.append((*parent.entries[:position], entry, *parent.entries[position + 1 :]))
        return out[:count]
