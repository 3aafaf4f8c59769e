"""The lexical logits of the words that are still missing, given the words that are already there.

Most words occur once in a text. Adding the same lexical logits at every step would push for words that
are there already, and the blocks would have to learn, word by word, not to repeat them. So the logit of a
word in use is lowered, by a learned amount of its own ("the" may well come again), and the others are
scaled with the number of masks that are left.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class WordsLeft(nn.Module):
    """`s(xt) lexical_w`, and for words in xt also `a + a_w + b lexical_w - penalty`."""

    def __init__(self, vocabulary: int, penalty: float = 0.0) -> None:
        super().__init__()
        self.penalty = penalty
        self.scale = nn.Parameter(torch.tensor([1.0, 0.0, 0.0]))  # constant, by masked share, by 1 / masks
        self.used = nn.Parameter(torch.tensor([-1.0, -0.5]))  # a and b
        self.used_word = nn.Parameter(torch.zeros(vocabulary))  # a_w

    def forward(
        self,
        lexical: Tensor,
        xt: Tensor,
        masked: Tensor,
        column: Tensor | None,
        padding: Tensor | None = None,
    ) -> Tensor:
        """Logits to be added at every masked position.  # [B, V or C]

        lexical: [B, V or C]; xt: [B, L]; masked: [B, L] bool; column: [V] of the candidates, if any;
        padding: [B, L] true beyond a sequence's length.
        """
        there = ~masked if padding is None else ~(masked | padding)  # [B, L]
        left = masked.sum(dim=1)  # [B]
        share, count = left / (left + there.sum(dim=1)), left.clamp(min=1)  # [B]
        scale = self.scale[0] + self.scale[1] * share + self.scale[2] / count  # [B]
        rows, positions = there.nonzero(as_tuple=True)
        words = xt[rows, positions]
        # A word that stands twice counts once.
        pairs = torch.unique(rows * len(self.used_word) + words)
        rows, words = pairs // len(self.used_word), pairs % len(self.used_word)
        columns = words if column is None else column[words]
        less = self.used[0] - self.penalty + self.used_word[words] + self.used[1] * lexical[rows, columns]
        return (scale[:, None] * lexical).index_put((rows, columns), less, accumulate=True)
