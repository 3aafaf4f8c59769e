"""A fitted defence on disk: parameters, statistics, and the secret in a file that only its owner reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unembed.defences.base import Defence
from unembed.defences.method import Method
from unembed.errors import DataError, UsageError
from unembed.storage import atomic_folder, digest_bytes, read_checked, read_json, write_json

SETTINGS, PUBLIC, SECRET = "defence.json", "statistics.safetensors", "secret.safetensors"
_FORMAT = 1


def save_defence(defence: Method, folder: Path) -> None:
    """Write the folder, whole or not at all. Only the owner can read the secret and the seed."""
    from safetensors.numpy import save

    if (folder / SETTINGS).exists() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(
            f"{folder} is already there.",
            hint="Give another folder: without its secret, what was defended with it cannot be searched.",
        )
    secret = dict(defence.secret)
    if defence.seed is not None:
        secret["seed"] = np.frombuffer(str(defence.seed).encode(), np.uint8)
    files = {PUBLIC: save(_contiguous(defence.public)), SECRET: save(_contiguous(secret))}
    with atomic_folder(folder) as fresh:
        for name, content in files.items():
            mode = 0o600 if name == SECRET else 0o644
            with os.fdopen(os.open(fresh / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
        write_json(
            fresh / SETTINGS,
            {
                "format": _FORMAT,
                "method": defence.info.name,
                "parameters": defence.parameters.model_dump(mode="json"),
                "dimension": defence.fitted_dimension,
                "mean_norm": defence.mean_norm,
                "digests": {name: digest_bytes(content) for name, content in files.items()},
            },
        )


def load_defence(folder: Path) -> Defence:
    """A defence as it was saved: it treats vectors and queries as it did then."""
    from safetensors.numpy import load

    from unembed.defences.registry import METHODS, make_defence

    if not (folder / SETTINGS).is_file():
        raise UsageError(
            f"{folder} holds no defence.", hint="'unembed defend --save-defence FOLDER' writes such a folder."
        )
    settings = read_json(folder / SETTINGS)
    if settings.get("format") != _FORMAT or settings.get("method") not in METHODS:
        raise DataError(f"{folder} was written by another version of unembed.", hint="Update unembed.")
    defence = make_defence(settings["method"], **settings["parameters"])
    assert isinstance(defence, Method)
    hint = "Copy the folder again, as a whole."
    digests = settings["digests"]
    defence.public = load(read_checked(folder / PUBLIC, digests[PUBLIC], hint=hint))
    defence.secret = load(read_checked(folder / SECRET, digests[SECRET], hint=hint))
    seed = defence.secret.pop("seed", None)
    defence.seed = None if seed is None else int(seed.tobytes().decode())
    defence.fitted_dimension, defence.mean_norm = settings["dimension"], settings["mean_norm"]
    return defence


def _contiguous(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}
