"""How likely a whole text is to the model: what ranks texts of different lengths."""

from __future__ import annotations

import torch
from torch import Tensor

# A length this much less likely than the likeliest (as a share) is not worth its passes.
LEAST_SHARE = 0.02
# Between the joint probability (0) and the mean per token (1); docs/decoding.md says what was measured.
NORMALISE = 0.5


def likely_lengths(logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest lengths of each text, at most `count`, and their log-probabilities.

    logits: [B, max_length + 1] of the length head. Returns the texts' rows, lengths and
    log-probabilities, best first for each text.  # 3 x [J]
    """
    logits = logits.float().clone()
    logits[:, 0] = -torch.inf  # a text has at least one token
    log_prob = torch.log_softmax(logits, dim=1)
    top, length = log_prob.topk(min(count, logits.shape[1] - 1), dim=1)  # [B, K]
    worth = top >= top[:, :1] + torch.log(torch.tensor(LEAST_SHARE))  # [B, K]
    rows = worth.nonzero()[:, 0]  # [J]
    return rows, length[worth], top[worth]


def text_score(
    token_log_prob: float, length_log_prob: float, length: int, *, normalise: float = NORMALISE
) -> float:
    """`log p(length | e) + log p(tokens | length, e) / length ** normalise`.

    `normalise = 0` is the joint log-probability of length and text. It would rank best if the tokens'
    probabilities were exact; they are not, their errors grow with the number of tokens, and shorter
    texts win too often. `normalise = 1` compares the tokens' mean log-probabilities.
    """
    factor: float = max(length, 1) ** normalise
    return length_log_prob + token_log_prob / factor
