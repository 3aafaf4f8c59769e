"""Any sentence-transformers model, by hub id or folder. Pooling, prompts and scaling are the model's own.

Stored vectors are vectors of documents, so a model that has a prompt for documents gets it; another
one is chosen by name: `embeddinggemma#query`. For jina-embeddings-v3 the name is also the task, which
picks the adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from unembed.encoders.base import BATCH_TOKENS, EncoderInfo, check_vectors, clean_texts
from unembed.encoders.batching import pick_device
from unembed.encoders.fetch import require_fetched
from unembed.encoders.locations import hub_folder
from unembed.encoders.recipes import RECIPES
from unembed.errors import DataError, UsageError
from unembed.extras import require
from unembed.storage import digest_file, digest_json, read_json

if TYPE_CHECKING:
    from unembed.encoders.registry import EncoderEntry

# What decides a vector, besides the weights: architecture, pooling, prompts, tokens, the model's own code.
_DECISIVE = ("config.json", "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
_DECISIVE_ENDINGS = (".safetensors", ".py")


class SentenceTransformerEncoder:
    """A loaded sentence-transformers model behind the protocol, in float32."""

    def __init__(self, model: Any, info: EncoderInfo, *, prompt: str | None, task: str | None) -> None:
        self.info = info
        self._model = model
        self._arguments = {"prompt_name": prompt} if prompt else {}
        if task is not None:
            self._arguments["task"] = task

    def tokenizer(self) -> Tokenizer:
        backend = getattr(self._model.tokenizer, "backend_tokenizer", self._model.tokenizer)
        if not isinstance(backend, Tokenizer):
            raise UsageError(
                f"Encoder '{self.info.name}' has no tokenizer.json, only a slow tokenizer.",
                hint="Choose a tokenizer by name or file.",
            )
        copy = Tokenizer.from_str(backend.to_str())
        copy.no_padding()
        copy.no_truncation()
        return copy

    def encode(self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS) -> NDArray[np.float32]:
        cleaned = clean_texts(texts)
        vectors = np.empty((len(cleaned), self.info.dimension), dtype=np.float32)  # [N, D]
        encode = self._model.encode if "task" in self._arguments else self._model.encode_document
        for rows in _batches(cleaned, batch_tokens, self.info.max_tokens):
            vectors[rows] = encode(
                [cleaned[row] for row in rows],
                batch_size=len(rows),
                show_progress_bar=False,
                convert_to_numpy=True,
                **self._arguments,
            )
        return check_vectors(vectors, dimension=self.info.dimension, name=self.info.name)


def load(
    entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False
) -> SentenceTransformerEncoder:
    """The model of a registry line, a hub id or a folder."""
    if entry.remote_code and not trust_remote_code:
        # Before anything is downloaded: the answer would be the same after two gigabytes.
        raise UsageError(
            f"'{entry.name}' runs code from its model repository ({entry.origin}), which is off by default.",
            hint="If you trust that repository: --trust-remote-code (trust_remote_code=True in Python).",
        )
    if entry.kind == "hub":
        _library(entry)  # without it, a download would be for nothing
    folder = _folder(entry)
    _check_folder(folder)
    model = _load_model(_library(entry), folder, pick_device(device), trust_remote_code)
    if entry.prompt is not None and entry.prompt not in model.prompts:
        raise UsageError(
            f"'{entry.name}' has no prompt '{entry.prompt}'.",
            hint=f"Its prompts: {', '.join(model.prompts) or 'none'}.",
        )
    task = entry.prompt if entry.remote_code else None
    return SentenceTransformerEncoder(
        model.eval(), _info(entry, model, folder), prompt=entry.prompt, task=task
    )


def _load_model(library: ModuleType, folder: Path, device: str, trust_remote_code: bool) -> Any:
    """The library's model of a folder; why it does not load is an error in one line."""
    try:
        with _quiet_loading():
            return library.SentenceTransformer(
                str(folder),
                device=device,
                trust_remote_code=trust_remote_code,
                # The contract (1e-5, whatever the batch) holds in float32, not in bfloat16.
                model_kwargs={"dtype": "float32", "use_safetensors": True},
            )
    except Exception as error:
        # The libraries raise a dozen classes for a folder that does not load; their message is passed on.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "trust_remote_code" in str(error):
            raise UsageError(
                f"{folder} brings code of its own, which is off by default.",
                hint="If you trust it: --trust-remote-code (trust_remote_code=True in Python).",
            ) from error
        raise DataError(f"{folder} does not load as a sentence-transformers model: {reason}") from error


def _library(entry: EncoderEntry) -> ModuleType:
    return require("sentence_transformers", extra="encoders", purpose=f"The encoder '{entry.name}'")


def _folder(entry: EncoderEntry) -> Path:
    if entry.kind == "fetch":
        return require_fetched(entry.name)
    if entry.kind == "folder":
        return Path(entry.origin)
    return hub_folder(entry.origin, mirror=entry.mirror)


def _check_folder(folder: Path) -> None:
    """A sentence-transformers folder whose weights are not pickles."""
    if not (folder / "modules.json").is_file():
        raise DataError(
            f"{folder} has no modules.json: it is not a sentence-transformers model, its pooling is unknown.",
            hint="Save the model with SentenceTransformer.save_pretrained() and give that folder.",
        )
    for pickle in (*folder.rglob("*.bin"), *folder.rglob("*.pt")):
        if not any(pickle.parent.glob("*.safetensors")):
            raise DataError(
                f"{pickle} is a pickle, which can run code; unembed loads safetensors only.",
                hint="Convert it: SentenceTransformer(...).save_pretrained(folder, safe_serialization=True).",
            )


def _info(entry: EncoderEntry, model: Any, folder: Path) -> EncoderInfo:
    modules = [type(module).__name__ for module in model]
    dimension = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    recipe = RECIPES.get(entry.name)
    digest = recipe.files[recipe.weights].sha256 if recipe else digest_folder(folder)
    return EncoderInfo(
        name=f"{entry.name}#{entry.prompt}" if entry.prompt else entry.name,
        dimension=int(dimension()),
        pooling=_pooling(model),
        max_tokens=_max_tokens(model),
        licence=entry.licence,
        normalised=modules[-1] == "Normalize",
        source=entry.origin,
        digest=digest_json([digest, entry.prompt]) if entry.prompt else digest,
    )


def _max_tokens(model: Any) -> int | None:
    """The model's limit; some say "none" with a number beyond all texts, or with infinity."""
    limit = getattr(model, "max_seq_length", None)
    return int(limit) if limit is not None and limit < 1_000_000 else None


def _pooling(model: Any) -> str:
    for module in model:
        if type(module).__name__ == "Pooling":
            # sentence-transformers 6 has the attribute, 5 the method.
            mode = getattr(module, "pooling_mode", None) or module.get_pooling_mode_str()
            name = "+".join(mode) if isinstance(mode, (list, tuple)) else str(mode)
            return {"lasttoken": "last-token"}.get(name, name)
        if type(module).__name__ == "StaticEmbedding":
            return "static"
    return "unknown"


def digest_folder(folder: Path) -> str:
    """One digest of everything in a model's folder that decides its vectors, wherever the folder lies."""
    parts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        if path.name in _DECISIVE:
            parts[name] = digest_json(read_json(path))
        elif path.name == "tokenizer.json" or path.suffix in _DECISIVE_ENDINGS:
            parts[name] = digest_file(path)
    return digest_json(parts)


def _batches(texts: list[str], batch_tokens: int, max_tokens: int | None) -> Iterator[NDArray[np.int64]]:
    """Rows of texts of similar length, so that padding stays small and memory bounded.

    Characters stand for tokens: about right where a character is a word, and on the small side else.
    """
    if batch_tokens < 1:
        raise UsageError(f"batch_tokens must be at least 1, not {batch_tokens}.")
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 2
    if max_tokens is not None:
        sizes = np.minimum(sizes, max_tokens)
    order = np.argsort(-sizes, kind="stable")
    first = 0
    while first < len(order):
        rows = max(1, int(batch_tokens // sizes[order[first]]))
        yield order[first : first + rows]
        first += rows


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """transformers draws a bar for every file that it reads; one that is done in a second is noise."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()
