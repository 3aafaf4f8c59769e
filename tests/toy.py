"""A toy encoder and toy tokenizers: real interfaces, no weights, milliseconds."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from unembed.encoders.base import EncoderInfo

LANGUAGES = {
    "en": ["The cat sat on the mat.", "It doesn't matter, does it?", "Snow fell on C# and 10% of cafés."],
    "de": ["Der Film beginnt um zehn Uhr.", "Füße, Größe, Straße: alles groß.", "Ich hätte gern ein Ei."],
    "fr": ["C'est un véritable cauchemar.", "Où est la gare ?", "L'été dernier, il a plu « souvent »."],
    "es": ["¿Cómo se escribe tu apellido?", "¡Qué día tan largo!", "El niño comió una manzana."],
    "pt": ["É o retrato da miséria.", "Não sei o que fazer amanhã.", "O coração da cidade."],
    "ru": ["Я не знаю, что делать.", "Ёлка стоит в углу.", "Фильм начинается в десять часов."],
    "zh": ["我希望能见到你。", "今天天气很好，我们去公园吧！", "他喜欢看书。"],
    "ja": ["私は彼の言葉を脅迫と解した。", "ガギグゲゴ、ﾊﾟﾋﾟﾌﾟ。", "明日は雨が降るでしょう。"],
    "ko": ["나는 학교에 갑니다.", "오늘은 날씨가 좋아요.", "그는 책을 읽는 것을 좋아한다."],
    "ar": ["كنت أفكر في الحصول على كلب.", "هل تتكلم العربية؟", "السَّلَامُ عَلَيْكُمْ."],
}

_NOUNS = [
    "cat",
    "dog",
    "bird",
    "tree",
    "house",
    "river",
    "stone",
    "cloud",
    "ship",
    "lamp",
    "book",
    "door",
    "road",
    "hill",
    "star",
]
_VERBS = ["sees", "finds", "likes", "leaves", "builds", "paints", "hears", "moves", "draws", "keeps"]
_PLACES = ["today", "here", "outside", "again", "slowly", "at", "night", "in", "spring", "by", "the", "sea"]


def sentences(count: int, *, seed: int = 0) -> list[str]:
    """Distinct English-looking sentences of different lengths (distinct also under normalisation)."""
    random = np.random.default_rng(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        words = ["The", random.choice(_NOUNS), random.choice(_VERBS), "the", random.choice(_NOUNS)]
        words += list(random.choice(_PLACES, size=random.integers(0, 6)))
        found.setdefault(" ".join(words), "." if random.random() < 0.8 else "!")
    return [text + mark for text, mark in found.items()]


class ToyEncoder:
    """A bag of hashed words: deterministic, the same alone or in a batch, and of unit length."""

    def __init__(self, *, dimension: int = 16, name: str = "toy", tokenizer: Tokenizer | None = None) -> None:
        self._tokenizer = tokenizer or wordpiece()
        self.calls = 0
        self.info = EncoderInfo(
            name=name,
            dimension=dimension,
            pooling="mean",
            max_tokens=128,
            licence="none",
            normalised=True,
            source="tests",
            digest=f"{zlib.crc32(f'{name}{dimension}'.encode()):064x}",
        )

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> np.ndarray:
        self.calls += 1
        vectors = np.zeros((len(texts), self.info.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split() or [""]:
                vectors[row] += np.random.default_rng(zlib.crc32(word.encode())).normal(size=vectors.shape[1])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def tokenizer(self) -> Tokenizer:
        return self._tokenizer


def _corpus() -> list[str]:
    return [*sentences(300), *(text for texts in LANGUAGES.values() for text in texts)]


def _split(text: str) -> list[tuple[str, tuple[int, int]]]:
    return pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)


@cache
def wordpiece() -> Tokenizer:
    """An uncased WordPiece tokenizer as BERT has: lower case, no accents, [UNK] for what it never saw."""
    # Not trained: the trainer breaks ties differently in every process.
    normaliser = normalizers.BertNormalizer()
    words = sorted({word for text in _corpus() for word, _ in _split(normaliser.normalize_str(text))})
    letters = sorted({letter for word in words for letter in word})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys([*pieces, *words]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(pieces[:5])
    tokenizer.normalizer = normaliser
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    return tokenizer


@cache
def byte_bpe() -> Tokenizer:
    """A byte-level BPE tokenizer as GPT-2 has: nothing unknown, characters that can be cut in half."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    return tokenizer


@cache
def metaspace_bpe() -> Tokenizer:
    """A sentencepiece-like tokenizer: spaces are part of the tokens, rare characters fall to bytes."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()])
    trainer = trainers.BpeTrainer(
        vocab_size=800,
        special_tokens=["<unk>", "<pad>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    return tokenizer
