"""A language whose vectors say every word's place, so that all of a text can be recovered."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from unembed.data.collect import collect
from unembed.data.config import CollectConfig, EncodeConfig
from unembed.data.encode import encode
from unembed.encoders.base import EncoderInfo

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]


class OrderedEncoder:
    """The sum of one random vector for every (word, position), at unit length."""

    def __init__(self, dimension: int = 96) -> None:
        self.info = EncoderInfo(
            name="ordered-toy",
            dimension=dimension,
            pooling="sum",
            max_tokens=16,
            licence="none",
            normalised=True,
            source="tests",
            digest=f"{dimension:064x}",
        )

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        vectors = np.zeros((len(texts), self.info.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for place, word in enumerate(text.split()):
                seed = zlib.crc32(f"{word} {place}".encode())
                vectors[row] += np.random.default_rng(seed).normal(size=vectors.shape[1])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def tokenizer(self) -> Tokenizer:
        special = ["[PAD]", "[UNK]", "[MASK]"]
        numbers = {word: number for number, word in enumerate([*special, *WORDS])}
        tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        return tokenizer


def prepare_language(folder: Path, *, count: int = 3000, seed: int = 0) -> Path:
    """Distinct texts of 3 to 5 words, encoded; a twentieth held out on each side."""
    random = np.random.default_rng(seed)
    texts: set[str] = set()
    while len(texts) < count:
        texts.add(" ".join(random.choice(WORDS, size=random.integers(3, 6))))
    (folder / "corpus.txt").write_text("\n".join(sorted(texts)) + "\n", encoding="utf-8")
    collect(CollectConfig(source=(f"en={folder / 'corpus.txt'}",)), folder / "texts")
    config = EncodeConfig(seq_len=8, validation_share=0.05, test_share=0.05)
    encode(config, folder / "texts", folder / "prepared", encoder=OrderedEncoder())
    return folder / "prepared"
