"""How likely a whole text is to the model: what ranks texts of different lengths."""

from __future__ import annotations

import torch
from torch import Tensor

# A length this much less likely than the likeliest (as a share) is not worth its passes.
LEAST_SHARE = 0.02


def likely_lengths(logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest lengths of each text, at most `count`, and their log-probabilities.

    logits: [B, max_length + 1] of the length head. Returns the texts' rows, lengths and
    log-probabilities, best first within a text.  # 3 x [J]
    """
    logits = logits.float().clone()
    logits[:, 0] = -torch.inf  # a text has at least one token
    log_prob = torch.log_softmax(logits, dim=1)
    top, length = log_prob.topk(min(count, logits.shape[1] - 1), dim=1)  # [B, K]
    worth = top >= top[:, :1] + torch.log(torch.tensor(LEAST_SHARE))  # [B, K]
    rows = worth.nonzero()[:, 0]  # [J]
    return rows, length[worth], top[worth]


def text_score(
    token_log_prob: float, length_log_prob: float, length: int, *, normalise: float = 0.0
) -> float:
    """`log p(length | e) + log p(tokens | length, e) / length ** normalise`.

    With `normalise = 0` this is the joint log-probability of length and text, as far as the order of
    reveal lets the factors multiply: exact for one token a pass, and an estimate for several. Longer
    texts have more factors; that the length's own probability makes up for it is what a joint
    distribution means. `normalise = 1` compares tokens' mean log-probabilities instead.
    """
    factor: float = max(length, 1) ** normalise
    return length_log_prob + token_log_prob / factor
