"""What an encoder is: texts in, one float32 vector per text out, and a description of what made it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from unembed.errors import DataError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Tokens that go through the network at once. Measured on CPUs: fewer starve the matrix multiplies,
# more fall out of the cache.
BATCH_TOKENS = 2048


class EncoderInfo(BaseModel):
    """What makes two encoders' vectors comparable, or not. The digest decides, the rest explains."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="What load_encoder() takes: a registry name, a hub id, a folder.")
    dimension: int = Field(gt=0, description="Length of a vector.")
    pooling: str = Field(description="How token vectors become one: mean, last-token, cnn, static, ...")
    max_tokens: int | None = Field(description="Longer texts are cut here, special tokens included.")
    licence: str = Field(description="Licence of the weights.")
    normalised: bool = Field(description="Whether every vector has length 1.")
    source: str = Field(description="Where the weights come from.")
    digest: str = Field(description="sha256 of the weights; of address and model name for an endpoint.")


@runtime_checkable
class Encoder(Protocol):
    """Everything that turns texts into vectors. The contract test says what that includes."""

    @property
    def info(self) -> EncoderInfo:
        """What this encoder is."""

    def encode(
        self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS
    ) -> NDArray[np.float32]:  # [N, D]
        """One vector per text, in the order of the texts; `encode([])` is `[0, D]`.

        A text's vector does not depend on its neighbours nor on `batch_tokens`, to 1e-5.
        """

    def tokenizer(self) -> Tokenizer:
        """The encoder's own tokenizer, without padding and truncation; an error where it has none."""


class TokenGradients(NamedTuple):
    """How a text's vector would move if its tokens changed."""

    ids: NDArray[np.int64]  # [L] the text's tokens, special ones left out
    gradient: NDArray[np.float32]  # [L, D] of the cosine to a target, with respect to each token's embedding


@runtime_checkable
class WhiteBox(Protocol):
    """An encoder with gradients: it can tell which tokens to change to come nearer to a target."""

    @property
    def word_vectors(self) -> NDArray[np.float32]:
        """The token embeddings, before the first block.  # [V, D]"""

    def token_gradients(self, texts: Sequence[str], targets: NDArray[np.float32]) -> list[TokenGradients]:
        """The gradient of each text's cosine to its target [N, D], with respect to its token embeddings."""


def clean_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list of valid Unicode, or an error that says which one is not a text.

    Half of a surrogate pair (broken JSON escapes leave them) is no character and no tokenizer takes
    it: it becomes U+FFFD.
    """
    if isinstance(texts, (str, bytes)):
        raise UsageError("encode() takes a list of texts, not one text.", hint="Write encode([text]).")
    cleaned = list(texts)
    for index, text in enumerate(cleaned):
        if not isinstance(text, str):
            raise UsageError(f"Text {index} is of type {type(text).__name__}, not a string.")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                cleaned[index] = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return cleaned


def check_vectors(vectors: NDArray[np.float32], *, dimension: int, name: str) -> NDArray[np.float32]:
    """The vectors, if there are `dimension` finite numbers in each; an error that names the first bad one."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise DataError(f"Encoder '{name}' returned vectors of shape {vectors.shape}, not [N, {dimension}].")
    # The sum is finite where all are (and where it overflows, the slow check decides).
    if not np.isfinite(vectors.sum()):
        bad = np.nonzero(~np.isfinite(vectors).all(axis=1))[0]
        if len(bad):
            raise DataError(f"Encoder '{name}' returned NaN or infinity for text {bad[0]}.")
    return vectors
