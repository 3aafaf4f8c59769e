"""An encoder whose vectors are defended: what an attacker has who can ask the service that fills a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unembed.defences.base import Defence, Floats
from unembed.encoders.base import BATCH_TOKENS, Encoder, EncoderInfo
from unembed.storage import digest_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class DefendedEncoder:
    """An `encoders.base.Encoder` that gives what the store would hold; its digest is not the clean
    encoder's.

    Noise follows the seed and the clean vector's bits. So where a defence is random, a text whose vector
    differs in the last bit in another batch gets other noise: only a defence without noise keeps an
    encoder's promise that a vector does not depend on its batch.
    """

    def __init__(self, encoder: Encoder, defence: Defence, *, seed: int = 0) -> None:
        self.encoder, self.defence, self.seed = encoder, defence, seed
        clean = encoder.info
        self.info: EncoderInfo = clean.model_copy(
            update={
                "name": f"{clean.name}+{defence.info.name}",
                "dimension": defence.dimension(clean.dimension),
                "normalised": clean.normalised and defence.info.name == "none",
                "source": f"{clean.source}; defended: {defence.info.title}",
                "digest": digest_json([clean.digest, defence.digest, seed]),
            }
        )

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> Floats:  # [N, D']
        """One defended vector per text, as documents are."""
        return self.defence.apply(self.encoder.encode(texts, batch_tokens=batch_tokens), seed=self.seed)

    def tokenizer(self) -> Tokenizer:
        """The encoder's own."""
        return self.encoder.tokenizer()
