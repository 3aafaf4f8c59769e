"""Where encoders' weights live on this machine. Looking imports neither torch nor a model's package."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

# Written last when an encoder is assembled: a folder without it is unfinished.
MANIFEST = "unembed-encoder.json"


def home() -> Path:
    """unembed's own folder: `UNEMBED_HOME`, or the platform's cache folder."""
    if chosen := os.environ.get("UNEMBED_HOME"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "unembed" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "unembed"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unembed"


def encoder_folder(name: str) -> Path:
    """Where `unembed encoders fetch NAME` puts it."""
    return home() / "encoders" / name


def is_fetched(name: str) -> bool:
    """Whether a fetched encoder is whole."""
    return (encoder_folder(name) / MANIFEST).is_file()


def package_folder(package: str, folder: str) -> Path | None:
    """A data folder of an installed package, found without running the package's code."""
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        if (Path(root) / folder).is_dir():
            return Path(root) / folder
    return None


def hub_snapshot(repository: str) -> Path | None:
    """A model's folder in the Hugging Face cache, when its weights are in it."""
    # The cache's location and layout are documented; asking huggingface_hub itself costs a slow import.
    cache = os.environ.get("HF_HUB_CACHE")
    if not cache:
        hub_home = os.environ.get("HF_HOME") or Path(
            os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"
        )
        cache = str(Path(hub_home) / "hub")
    snapshots = Path(cache) / ("models--" + repository.replace("/", "--")) / "snapshots"
    for snapshot in sorted(snapshots.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True):
        if any(snapshot.glob("*.safetensors")) or any(snapshot.glob("*.bin")):
            return snapshot
    return None
