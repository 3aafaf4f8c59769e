"""A sentencepiece unigram model, and the same model as a `tokenizers.Tokenizer`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from unembed.errors import DataError
from unembed.extras import require

# Field numbers of sentencepiece's ModelProto and NormalizerSpec.
_NORMALIZER_SPEC, _CHARSMAP = 3, 2


def load_sentencepiece(model: Path) -> Any:
    """The C++ processor: the one the models were trained with, and the fastest."""
    sentencepiece = require("sentencepiece", extra="use", purpose="The encoder 'use-multilingual'")
    return sentencepiece.SentencePieceProcessor(model_file=str(model))


def spm_tokenizer(model: Path) -> Tokenizer:
    """The model's pieces, scores and character map as a tokenizer that adds `<s>` and `</s>`.

    The ids are those of sentencepiece, except where a text spells a special token: the tokenizer
    reads `<s>` as that token, sentencepiece as three characters.
    """
    pieces = load_sentencepiece(model)
    vocabulary = [(pieces.id_to_piece(i), pieces.get_score(i)) for i in range(pieces.vocab_size())]
    normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(_charsmap(model.read_bytes())),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    return unigram_tokenizer(vocabulary, normalizer, pieces.unk_id(), pieces.bos_id(), pieces.eos_id())


def unigram_tokenizer(
    vocabulary: list[tuple[str, float]],
    normalizer: normalizers.Normalizer,
    unknown: int,
    first: int,
    last: int,
) -> Tokenizer:
    """A tokenizer of scored pieces that puts the pieces `first` and `last` around a text."""
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=unknown, byte_fallback=False))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    special = [vocabulary[piece][0] for piece in (unknown, first, last)]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{special[1]} $A {special[2]}", special_tokens=[(special[1], first), (special[2], last)]
    )
    return tokenizer


def _charsmap(model: bytes) -> bytes:
    """The normaliser's compiled character map, as the model file holds it."""
    for number, spec in _fields(model):
        if number == _NORMALIZER_SPEC:
            for inner, value in _fields(spec):
                if inner == _CHARSMAP:
                    return value
    raise DataError("The sentencepiece model holds no character map.")


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """A protocol buffer's length-delimited fields; numbers are skipped."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        wire = tag & 7
        if wire == 0:
            _, position = _varint(message, position)
        elif wire == 2:
            length, position = _varint(message, position)
            yield tag >> 3, message[position : position + length]
            position += length
        elif wire in (1, 5):
            position += 8 if wire == 1 else 4
        else:
            raise DataError("The sentencepiece model is damaged.")


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
    raise DataError("The sentencepiece model is damaged.")
