"""What the model thinks of a text that is already there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.conditioned import ConditionedDenoiser
from unembed.decode.rank import NORMALISE, text_score
from unembed.model.checkpoint import Checkpoint

ROWS = 256  # sequences per pass


class Scored(NamedTuple):
    """How likely a text is, and each of its tokens when it was revealed."""

    score: float
    log_probs: tuple[float, ...]


def score_texts(
    checkpoint: Checkpoint,
    entries: Sequence[tuple[int, ...]],
    vectors: NDArray[np.float32],
    *,
    length_known: bool = False,
    passes: int | None = None,
) -> list[float]:
    """Each text's score given its vector [n, D], as `rank.text_score` has it."""
    found = scored_texts(checkpoint, entries, vectors, length_known=length_known, passes=passes)
    return [one.score for one in found]


@torch.no_grad()
def scored_texts(
    checkpoint: Checkpoint,
    entries: Sequence[tuple[int, ...]],
    vectors: NDArray[np.float32],
    *,
    length_known: bool = False,
    passes: int | None = None,
) -> list[Scored]:
    """The same with each token's part.

    The tokens' log-probability is that of revealing them from left to right, by the chain rule: a text
    of L tokens is L sequences, each with one more token given. With at most `passes` sequences per text,
    a long one is revealed in that many groups of tokens that stand far from each other, each group at once.
    """
    out = [Scored(-float("inf"), ())] * len(entries)
    for length in sorted({len(text) for text in entries if text}):
        rows = [row for row, text in enumerate(entries) if len(text) == length]
        for first in range(0, len(rows), max(1, ROWS // length)):
            part = rows[first : first + max(1, ROWS // length)]
            scores = _score(checkpoint, [entries[row] for row in part], vectors[part], length_known, passes)
            for row, score in zip(part, scores, strict=True):
                out[row] = score
    return out


def _score(
    checkpoint: Checkpoint,
    texts: Sequence[tuple[int, ...]],
    vectors: NDArray[np.float32],
    length_known: bool,
    passes: int | None,
) -> list[Scored]:
    """The same for texts of one length."""
    denoiser, vocabulary = checkpoint.denoiser, checkpoint.vocabulary
    config, device = denoiser.config, denoiser.output_bias.device
    count, length = len(texts), len(texts[0])
    known = np.array(texts, dtype=np.int64)  # [n, L]
    fixed = vocabulary.fixed_length
    if fixed:
        known = vocabulary.close(known, np.full(count, length), config.max_length)
    reach = min(length + 1, config.max_length) if fixed else length  # the end counts where the model says it
    whole = torch.from_numpy(known).to(device)  # [n, L]
    e = torch.from_numpy(np.ascontiguousarray(vectors)).to(device)  # [n, D]
    lengths = torch.full((count,), config.max_length if fixed else length, device=device)
    model = ConditionedDenoiser.read(denoiser, e, lengths, [vocabulary.unknown], 0.0)
    each = _chain_rule(model, whole, _turns(reach, passes).to(device))  # [n, reach]
    length_part = [0.0] * count
    if not fixed and not length_known:
        length_part = _length_log_prob(denoiser.length_logits(e), length).tolist()
    normalise = 0.0 if fixed else NORMALISE
    return [
        Scored(
            text_score(tokens_part, length_log_prob, length, normalise=normalise), tuple(log_probs[:length])
        )
        for tokens_part, length_log_prob, log_probs in zip(
            each.sum(dim=1).tolist(), length_part, each.tolist(), strict=True
        )
    ]


def _chain_rule(model: ConditionedDenoiser, whole: Tensor, turn: Tensor) -> Tensor:
    """The log-probability of each token of whole texts [n, L] as it is revealed.  # [n, reach]

    turn: [reach], when each token is revealed; those beyond never are
    """
    count, reach, turns = len(whole), len(turn), int(turn.max()) + 1
    row = torch.arange(count, device=whole.device).repeat_interleave(turns)  # [n * turns]
    step = torch.arange(turns, device=whole.device).repeat(count)  # [n * turns]
    beyond = torch.full((whole.shape[1] - reach,), turns, device=whole.device)
    when = torch.cat([turn, beyond])  # [L]
    hidden = when >= step[:, None]  # [n * turns, L]
    tokens = whole[row].masked_fill(hidden, model.denoiser.config.mask_id)
    wanted = when == step[:, None]  # [n * turns, L]
    logits = model.select(row).logits(tokens, hidden.float().mean(dim=1), wanted)  # [n * reach, V]
    asked, position = wanted.nonzero().unbind(1)  # 2 x [n * reach]
    truth = whole[row[asked], position]  # [n * reach]
    log_prob = logits.gather(1, truth[:, None]).squeeze(1) - logits.logsumexp(dim=1)
    return log_prob.new_zeros(count, reach).index_put((row[asked], position), log_prob)


def _length_log_prob(logits: Tensor, length: int) -> Tensor:
    """Of one length; logits: [n, max_length + 1]  # [n]"""
    return torch.log_softmax(logits[:, 1:].float(), dim=1)[:, length - 1]


def _turns(length: int, passes: int | None) -> Tensor:
    """When each token is revealed: one after the other, or in groups `passes` apart.  # [L]"""
    position = torch.arange(length)
    if passes is None or length <= passes:
        return position
    # Groups in an order in which each comes between those before it: 0, 4, 2, 6, 1, 5, 3, 7 of eight.
    order = sorted(range(passes), key=lambda group: int(f"{group:016b}"[::-1], 2))
    turn = torch.empty(passes, dtype=torch.long)
    turn[torch.tensor(order)] = torch.arange(passes)
    return turn[position % passes]
