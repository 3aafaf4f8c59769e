"""The texts to recover: drawn once, the same for every variant of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.data.prepared import PreparedData, Split
from unembed.data.split import SplitName
from unembed.errors import DataError

# Every use of the seed draws from a stream of its own.
DRAW, SHUFFLE, RANDOM_TOKENS, NOISE, MASKS = range(5)


@dataclass(frozen=True)
class Samples:
    """n texts with their tokens and vectors."""

    numbers: NDArray[np.int64]  # [n] their indices in the split
    texts: list[str]
    tokens: list[list[int]]  # ids of the model's tokenizer
    vectors: NDArray[np.float32]  # [n, D]
    languages: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def lengths(self) -> NDArray[np.int64]:  # [n]
        return np.array([len(ids) for ids in self.tokens], dtype=np.int64)


def draw_samples(
    data: PreparedData,
    split: SplitName,
    count: int,
    *,
    seed: int,
    tokenizer: Tokenizer,
    min_tokens: int = 1,
    max_tokens: int | None = None,
) -> Samples:
    """`count` texts of the split (all, where it has fewer), in the split's order.

    Only texts of `min_tokens` to `max_tokens` tokens, as the data counts them.

    The tokens are ids of `tokenizer`, the model's own: where the data was tokenised with another one,
    the texts are tokenised again.
    """
    side = data.split(split)
    if not len(side):
        raise DataError(
            f"The {split} split of {data.folder} is empty.",
            hint="Choose another --split, or prepare data with a share for it.",
        )
    longest = int(side.lengths.max()) if max_tokens is None else max_tokens
    fit = np.nonzero((side.lengths >= min_tokens) & (side.lengths <= longest))[0]
    if not len(fit):
        raise DataError(
            f"The {split} split of {data.folder} has no text of {min_tokens} to {longest} tokens.",
            hint="Change --min-tokens or --max-tokens, or choose another --split.",
        )
    random = np.random.default_rng([seed, DRAW])
    numbers = np.sort(fit[random.choice(len(fit), size=min(count, len(fit)), replace=False)])
    texts = side.texts(numbers)
    if tokenizer.to_str() == data.tokenizer().to_str():
        tokens = token_lists(side, numbers)
    else:
        tokens = [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
    return Samples(numbers, texts, tokens, side.vectors(numbers), side.languages(numbers))


def token_lists(side: Split, numbers: NDArray[np.int64]) -> list[list[int]]:
    """Token ids without padding."""
    lengths = side.lengths[numbers].tolist()
    return [row[:length].tolist() for row, length in zip(side.tokens(numbers), lengths, strict=True)]


def add_noise(
    samples: Samples, sigma: float, *, seed: int, normalised: bool
) -> NDArray[np.float32]:  # [n, D]
    """The vectors with Gaussian noise whose length is `sigma` times theirs, on average.

    A text's noise has the same direction at every sigma. Where the encoder's vectors have length 1, the
    sum is scaled back to it: anyone who inverts such vectors would do that first.
    """
    clean = samples.vectors
    if sigma == 0:
        return clean
    dimension = clean.shape[1]
    drawn = np.stack(
        [np.random.default_rng([seed, NOISE, number]).normal(size=dimension) for number in samples.numbers]
    )  # [n, D]
    norms = np.linalg.norm(clean, axis=1, keepdims=True)  # [n, 1]
    noisy = clean + sigma * norms * drawn / np.sqrt(dimension)
    if normalised:
        noisy *= norms / np.linalg.norm(noisy, axis=1, keepdims=True)
    out: NDArray[np.float32] = noisy.astype(np.float32)
    return out
