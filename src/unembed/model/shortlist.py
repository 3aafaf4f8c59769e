"""The candidate softmax's part of the model: which entries a training step uses, and their weights."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Candidates(NamedTuple):
    """The entries that take part in a training step's softmax, and where each entry stands among them."""

    entries: Tensor  # [C] rising
    place: Tensor  # [V + 1] the column of an entry; 0 for those that do not take part, C for [MASK]


class Shortlist(NamedTuple):
    """The candidates' rows of the vocabulary's matrices, gathered once a step.

    The gradient of a gather is as large as the whole matrix: one a step is enough, one for every group
    and every look-up would cost more than the blocks' smaller products.
    """

    place: Tensor  # [V + 1]
    token: Tensor  # [C + 1, D] the last row is [MASK]
    bias: Tensor  # [C]
    lexical: tuple[Tensor, Tensor] | None  # weight [C, hidden] and bias [C] of the lexical head's last layer
