"""A BERT as an encoder: the mean of the last layer's token vectors, scaled to length 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.compute.precision import computing
from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, TokenGradients, check_vectors, clean_texts
from unembed.encoders.batching import TEXTS_AT_ONCE, flat_batches
from unembed.encoders.bert import Bert, mean_pool


class BertEncoder:
    """A network and its tokenizer. `prefix` ("query: ") stands before every text: part of its identity."""

    def __init__(
        self, bert: Bert, tokenizer: Tokenizer, info: EncoderInfo, device: str, prefix: str = ""
    ) -> None:
        self.info = info
        self._device, self._prefix = device, prefix
        self._bert: Bert = bert.to(device)
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # [CLS] and the prefix's tokens come before a text's own.
        self._before = 1 + len(self._tokenizer.encode(prefix, add_special_tokens=False).ids)
        self._truncating = self.tokenizer()
        assert info.max_tokens is not None  # BERT's positions end somewhere
        self._truncating.enable_truncation(info.max_tokens)

    @property
    def bert(self) -> Bert:
        """The network, for whoever builds on its blocks."""
        return self._bert

    def tokenizer(self) -> Tokenizer:
        return Tokenizer.from_str(self._tokenizer.to_str())

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._truncating.encode_batch_fast([self._prefix + text for text in texts])
        return [encoding.ids for encoding in encodings]

    @torch.inference_mode()
    @computing(None)  # its vectors are what others are measured by
    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        cleaned = clean_texts(texts)
        vectors = np.empty((len(cleaned), self.info.dimension), dtype=np.float32)  # [N, D]
        for start in range(0, len(cleaned), TEXTS_AT_ONCE):
            for batch in flat_batches(self._ids(cleaned[start : start + TEXTS_AT_ONCE]), batch_tokens):
                tokens = torch.from_numpy(batch.ids).to(self._device)  # [T]
                pooled = mean_pool(self._bert(tokens, batch.runs), batch.runs)  # [B, D]
                vectors[start + batch.rows] = F.normalize(pooled, dim=-1).cpu().numpy()
        return check_vectors(vectors, dimension=self.info.dimension, name=self.info.name)

    @property
    def word_vectors(self) -> NDArray[np.float32]:  # [V, D]
        return self._bert.words.weight.detach().cpu().numpy()

    def token_gradients(self, texts: Sequence[str], targets: NDArray[np.float32]) -> list[TokenGradients]:
        ids = self._ids(clean_texts(texts))
        out: list[TokenGradients | None] = [None] * len(ids)
        for batch in flat_batches(ids, BATCH_TOKENS):
            words = self._bert.words(torch.from_numpy(batch.ids).to(self._device)).requires_grad_()  # [T, D]
            pooled = mean_pool(self._bert.read(words, batch.runs), batch.runs)  # [B, D]
            target = torch.from_numpy(targets[batch.rows]).to(self._device)  # [B, D]
            # Every text has its own words: the gradient of the sum is that of each.
            F.cosine_similarity(pooled, target).sum().backward()  # type: ignore[no-untyped-call]
            assert words.grad is not None
            gradient = words.grad.cpu().numpy()
            end = 0
            for row, size in zip(batch.rows.tolist(), (len(ids[row]) for row in batch.rows), strict=True):
                end += size
                inside = slice(end - size + self._before, end - 1)  # up to [SEP]
                out[row] = TokenGradients(batch.ids[inside], gradient[inside])
        return [one for one in out if one is not None]
