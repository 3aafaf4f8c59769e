"""What a recovered text depends on besides the vector and the options: digests of everything in use.

Two runs with equal identities and equal options give equal results, so that one may resume the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unembed.encoders.base import Encoder
from unembed.model.checkpoint import Checkpoint
from unembed.model.phrases import PHRASES
from unembed.storage import digest_file, digest_json

SURROGATE = "surrogate"  # the folder of the model's that holds it


def result_identity(checkpoint: Checkpoint, guide: Encoder | None = None) -> dict[str, Any]:
    """The model by its digests; where an encoder guides a search, also that and what assists it.

    >>> result_identity(checkpoint, guide=encoder)
    {'model': {'model.safetensors': 'd2a8...', 'tokenizer.json': 'da0e...', 'denoiser': '77ab...'},
     'guide': {'name': 'minilm', 'digest': '53aa...'}, 'phrases': '9c1f...', 'surrogate': None}
    """
    config = checkpoint.config
    denoiser = digest_json(config.denoiser.model_dump(mode="json"))
    identity: dict[str, Any] = {"model": {**config.digests, "denoiser": denoiser}}
    if guide is not None:
        folder = checkpoint.folder
        identity["guide"] = {"name": guide.info.name, "digest": guide.info.digest}
        identity["phrases"] = _digest(folder / PHRASES) if folder is not None else None
        identity["surrogate"] = _digest(folder / SURROGATE) if folder is not None else None
    return identity


def _digest(path: Path) -> str | None:
    """Of a file, or of all files of a folder; None where there is nothing."""
    if path.is_dir():
        return digest_json(
            {file.name: digest_file(file) for file in sorted(path.iterdir()) if file.is_file()}
        )
    return digest_file(path) if path.exists() else None
