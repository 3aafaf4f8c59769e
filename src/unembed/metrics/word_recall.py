"""Word recall @ k: how many of a text's tokens are among the k that the lexical head finds likeliest.

A token that is not found there is rarely written by any decoder: this bounds what decoding, ranking or
searching can do, and it needs one product per vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from unembed.errors import UsageError
from unembed.metrics.accuracy import Ratio
from unembed.metrics.base import Pair
from unembed.model.denoiser import Denoiser
from unembed.model.vocabulary import Vocabulary


class WordRecall(Ratio):
    """Different tokens that are among the likeliest, pooled. Needs the model, not its texts."""

    name = "word_recall"

    def __init__(self, likeliest: int) -> None:
        self.likeliest = likeliest
        self.label = f"Word recall @ {likeliest}"

    def signature(self, languages: Sequence[str]) -> str:
        return f"different tokens of a text among the lexical head's likeliest {self.likeliest}"

    def statistics(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        raise TypeError("word recall measures the model, not recovered texts: call recall_words()")


@torch.no_grad()
def recall_words(
    denoiser: Denoiser,
    vocabulary: Vocabulary,
    vectors: NDArray[np.float32],
    tokens: Sequence[Sequence[int]],
    *,
    likeliest: int,
) -> NDArray[np.float64]:  # [n, 2]
    """For each text: different tokens that are among the likeliest, and different tokens.

    A token outside the model's vocabulary is never found.
    """
    if denoiser.lexical is None:
        raise UsageError("This model has no lexical head: there are no likeliest words to look at.")
    e = denoiser.read(torch.from_numpy(vectors).to(denoiser.token.weight.device))  # [n, vector_dim]
    logits = denoiser.lexical(e)  # [n, V]
    logits[:, vocabulary.unknown] = -torch.inf
    top = logits.topk(min(likeliest, logits.shape[1]), dim=1).indices.cpu().numpy()  # [n, k]
    out = np.zeros((len(tokens), 2))
    for row, (found, text) in enumerate(zip(vocabulary.token_ids[top], tokens, strict=True)):
        out[row] = len(set(text) & set(found.tolist())), len(set(text))
    return out
