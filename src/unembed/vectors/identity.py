"""What a recovered text depends on besides the vector and the options: digests of everything in use.

Two runs with equal identities and equal options give equal results, so that one may resume the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unembed.compute.precision import choose_precision
from unembed.encoders.base import Encoder
from unembed.model.checkpoint import Checkpoint
from unembed.model.parts import SURROGATE_FILES, TOKENIZER, WEIGHTS
from unembed.model.trigrams import PHRASES
from unembed.model.truecasing import CASING
from unembed.storage import digest_file, digest_json


def result_identity(checkpoint: Checkpoint, guide: Encoder | None = None) -> dict[str, Any]:
    """The model and its surrogate by their digests; where an encoder guides a search, also that, phrases
    and casing.

    A text can change with the precision, and what `auto` means with the processor: that is part of it.

    >>> result_identity(checkpoint, guide=encoder)
    {'model': {'model.safetensors': 'd2a8...', 'tokenizer.json': 'da0e...', 'denoiser': '77ab...'},
     'surrogate': None, 'auto_precision': 'bf16',
     'guide': {'name': 'minilm', 'digest': '53aa...'}, 'phrases': '9c1f...', 'casing': '1d4e...'}
    """
    config = checkpoint.config
    model = {name: config.digests.get(name) for name in (WEIGHTS, TOKENIZER)}
    denoiser = digest_json(config.denoiser.model_dump(mode="json"))
    folder = checkpoint.folder
    identity: dict[str, Any] = {
        "model": {**model, "denoiser": denoiser},
        "surrogate": _digest(folder, SURROGATE_FILES) if checkpoint.has_surrogate else None,
        "auto_precision": choose_precision("auto", checkpoint.denoiser.output_bias.device),
    }
    if guide is not None:
        identity["guide"] = {"name": guide.info.name, "digest": guide.info.digest}
        identity["phrases"] = _digest(folder, (PHRASES,)) if checkpoint.has_phrases else None
        identity["casing"] = _digest(folder, (CASING,))
    return identity


def _digest(folder: Path | None, names: tuple[str, ...]) -> str | None:
    """Of a part of the model's folder: of its files as they are, whatever config.json says."""
    if folder is None:
        return None
    return digest_json({name: digest_file(folder / name) for name in names if (folder / name).exists()})
