"""Which encoders can be tried on this machine, and what is known of dimensions in general."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable

from unembed.encoders.base import Encoder
from unembed.encoders.registry import Loader, find_entry, list_encoders, load_encoder

# What makes vectors of a dimension, beside the encoders that unembed knows: a hint, never a claim.
WIDESPREAD = {
    256: "Matryoshka models cut short",
    384: "bge-small, all-MiniLM-L12-v2, multilingual-e5-small, snowflake-arctic-embed-s",
    512: "Matryoshka models cut short, CLIP ViT-B/32",
    768: "bge-base, e5-base, gte-base, nomic-embed-text, embeddinggemma, text-embedding-004",
    1024: "bge-large, bge-m3, e5-large, mxbai-embed-large, Cohere embed v3, Voyage, jina-v3, Titan v2",
    1536: "text-embedding-3-small, text-embedding-ada-002, Cohere embed v4",
    3072: "text-embedding-3-large, gemini-embedding-001",
}

# The encoders that have statistics, by the names under which they are published.
PUBLISHED = {
    "all-minilm-l6-v2": "minilm",
    "all-mpnet-base-v2": "mpnet",
    "potion-base-8m": "potion",
    "gte-small": "gte-small",
    "e5-small": "e5-small",
    "universal-sentence-encoder-multilingual": "use-multilingual",
}


def local_encoders(dimension: int) -> list[str]:
    """The named encoders whose weights are on this machine, of this dimension first, then larger ones.

    No endpoint: texts of a store do not leave the machine unless somebody asks for it by name.
    """
    fit = [
        entry
        for entry in list_encoders()
        if entry.local and not entry.remote_code and entry.dimension is not None
        if entry.dimension >= dimension
    ]
    return [entry.name for entry in sorted(fit, key=lambda entry: entry.dimension or 0)]


def load_plain(name: str, *, trust_remote_code: bool = False) -> Encoder:
    """An encoder without the prompt that it usually puts before texts: prompts are tried one by one."""
    entry = find_entry(name)
    if "#" in name or entry.prompt is None or entry.kind != "fetch":
        return load_encoder(name, trust_remote_code=trust_remote_code)
    load: Loader = importlib.import_module(f"unembed.encoders.{entry.module}").load
    return load(entry.model_copy(update={"prompt": None}))


def named_in(said: Iterable[str]) -> str | None:
    """The known encoder that a store's own words name; `multilingual-e5-small` is another than `e5-small`."""
    words = " ".join(said).casefold()
    for published, name in PUBLISHED.items():
        if re.search(rf"(?<![\w-]){re.escape(published)}(?![\w-])", words):
            return name
    return None
