"""What the base's frozen heads think of a mapped vector: the losses that train a map towards them.

The lexical head says which words it reads from a vector, the length head how many. Both are differentiable,
so that their errors on pairs say how a map should change. The words of a batch are scored exactly, the other
words of the vocabulary through a random few of them, weighted for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from unembed.adaptation.tuned_map import words_of
from unembed.model.checkpoint import Checkpoint

NEGATIVES = 1500  # words that stand for those that are not in a batch
LENGTH_WEIGHT = 0.1  # as in training


class HeadLosses:
    """The heads' losses on some texts; a batch is given by its rows among them."""

    def __init__(self, base: Checkpoint, texts: Sequence[str]) -> None:
        assert base.denoiser.lexical is not None, "there is nothing to learn words by"
        self._lexical, self._length = base.denoiser.lexical, base.denoiser.length_head
        self._weight = self._lexical.down.weight.detach()  # [V, hidden]
        self._bias = self._lexical.down.bias.detach()  # [V]
        self._dtype = base.denoiser.dtype
        self._words = words_of(base, texts)
        found = base.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        longest = base.config.denoiser.max_length
        self._lengths = torch.tensor([min(len(one.ids), longest) for one in found])  # [n]

    def __call__(self, standard: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The mean loss of mapped vectors [B, native_dim] of the texts `rows` [B]."""
        standard = standard.to(self._dtype)
        loss = self._word_loss(standard, rows, generator)
        if self._length is None:
            return loss
        guess = self._length(standard).float()  # [B, max_length + 1]
        return loss + LENGTH_WEIGHT * F.cross_entropy(guess, self._lengths[rows])

    def _word_loss(self, standard: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Multi-label: is this word in the text? Summed over words, per word of the text."""
        words = [self._words[row] for row in rows.tolist()]
        every = torch.cat(words)
        inside = torch.unique(every)  # [P], sorted
        drawn = torch.randint(len(self._bias), (NEGATIVES,), generator=generator)
        outside = drawn[~torch.isin(drawn, inside)]  # [N]
        entries = torch.cat([inside, outside])  # [C]
        logits = self._lexical(standard, (self._weight[entries], self._bias[entries])).float()  # [B, C]
        counts = torch.tensor([len(some) for some in words])  # [B]
        present = torch.zeros_like(logits)
        present[torch.arange(len(rows)).repeat_interleave(counts), torch.searchsorted(inside, every)] = 1.0
        worth = torch.ones(len(entries))  # [C]
        worth[len(inside) :] = (len(self._bias) - len(inside)) / max(1, len(outside))
        each = F.binary_cross_entropy_with_logits(logits, present, reduction="none") * worth  # [B, C]
        return (each.sum(dim=1) / counts.clamp(min=1)).mean()
