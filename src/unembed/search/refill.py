"""Refilling: the denoiser fills the masks of edited texts by sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.decode.base import BaseDecoder, State, largest, share_now, spread
from unembed.decode.choose import sampled
from unembed.decode.denoising_loop import decode, like_lengths
from unembed.invert_config import InversionOptions
from unembed.model.checkpoint import Checkpoint
from unembed.search.edits import MASK, Entries
from unembed.search.masked_texts import as_tokens, banned_entries

SHORTLIST = 512  # words per text, after the first pass


@dataclass(frozen=True)
class Refill(BaseDecoder):
    """Tokens are sampled at every mask; the surest of them stay, the others are sampled again."""

    temperature: float = 1.0
    name: str = "refill"

    def passes(self, length: int, steps: int | None) -> int:
        return min(length, steps or 1)

    def step(self, logits: Tensor, wanted: Tensor, state: State) -> State:
        token, log_prob = sampled(logits, state.uniform()[wanted], self.temperature)  # [M]
        sure = spread(log_prob, wanted, -torch.inf)  # [B, L]
        now = largest(sure, share_now(wanted.sum(dim=1), state)) & wanted  # [B, L]
        chosen = now[wanted]  # [M]
        return state.reveal(now, token[chosen], log_prob[chosen])


def refill(
    checkpoint: Checkpoint,
    texts: Sequence[Entries],
    vectors: NDArray[np.float32],
    seeds: Tensor,
    *,
    steps: int,
    temperature: float,
    batch: int,
) -> tuple[list[Entries], NDArray[np.int64]]:
    """Texts with their masks filled, and the forward passes of each.  # [n]

    vectors: [n, D], what each text is to say; seeds: [n].
    """
    device = checkpoint.denoiser.output_bias.device
    filled = list(texts)
    passes = np.zeros(len(texts), dtype=np.int64)
    masked = [row for row, text in enumerate(texts) if MASK in text]
    for part in like_lengths(torch.tensor([len(texts[row]) for row in masked], dtype=torch.long), batch):
        rows = [masked[index] for index in part.tolist()]
        start, lengths = as_tokens(checkpoint, [texts[row] for row in rows])
        decoded = decode(
            checkpoint.denoiser,
            torch.from_numpy(vectors[rows]).to(device),
            lengths,
            Refill(temperature),
            # Cache and shortlist are approximations that the encoder judges like everything else.
            InversionOptions(steps=steps, kv_cache=True, shortlist=SHORTLIST),
            seeds=seeds[rows].to(device),
            banned=banned_entries(checkpoint),
            start=start,
        )
        passes[rows] = decoded.forward_passes.cpu().numpy()
        for row, tokens in zip(rows, decoded.tokens.tolist(), strict=True):
            filled[row] = tuple(tokens[: len(texts[row])])
    return filled, passes
