"""potion-base-8M: a static model. A text's vector is the mean of its tokens' fixed vectors.

Which tokens count follows the model's own `modules.json` (sentence-transformers' StaticEmbedding):
all of them, unknown ones included, without special tokens and without a maximum length.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer, processors

from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, check_vectors, clean_texts
from unembed.encoders.batching import TEXTS_AT_ONCE, pick_device
from unembed.encoders.fetch import require_fetched
from unembed.encoders.recipes import RECIPES

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry


class StaticEncoder:
    """Look up, average, scale to length 1. A text without a single token is all zeros."""

    def __init__(self, folder: Path, info: EncoderInfo, device: str) -> None:
        self.info = info
        self.folder = folder
        self._tokenizer = self.tokenizer()
        self._table = load_file(folder / "model.safetensors", device=device)["embeddings"]  # [V, D]

    def tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # The published file still adds [CLS] and [SEP] by the ids of the model that it was distilled
        # from, which are other tokens here; the encoder itself never adds any.
        tokenizer.post_processor = processors.TemplateProcessing(single="$A", special_tokens=[])
        return tokenizer

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        # There is no network to feed: batch_tokens changes nothing, a bag of tokens is one look-up.
        cleaned = clean_texts(texts)
        vectors = np.empty((len(cleaned), self.info.dimension), dtype=np.float32)  # [N, D]
        for start in range(0, len(cleaned), TEXTS_AT_ONCE):
            part = cleaned[start : start + TEXTS_AT_ONCE]
            encodings = self._tokenizer.encode_batch_fast(part, add_special_tokens=False)
            ids = [encoding.ids for encoding in encodings]
            flat = torch.tensor(list(chain.from_iterable(ids)), dtype=torch.long)  # [T]
            ends = np.cumsum([len(tokens) for tokens in ids])
            starts = torch.from_numpy(np.concatenate([[0], ends[:-1]]).astype(np.int64))  # [N]
            device = self._table.device
            means = F.embedding_bag(flat.to(device), self._table, starts.to(device), mode="mean")  # [N, D]
            vectors[start : start + len(part)] = F.normalize(means, dim=-1).cpu().numpy()
        return check_vectors(vectors, dimension=self.info.dimension, name=self.info.name)


def load(entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False) -> StaticEncoder:
    """The fetched encoder."""
    folder, recipe = require_fetched(entry.name), RECIPES[entry.name]
    info = EncoderInfo(
        name=entry.name, dimension=256, pooling=entry.pooling, max_tokens=None, licence=entry.licence,
        normalised=True, source="minishlab/potion-base-8M", digest=recipe.files[recipe.weights].sha256,
    )  # fmt: skip
    return StaticEncoder(folder, info, pick_device(device))
