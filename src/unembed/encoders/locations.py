"""Where encoders' weights live on this machine. Looking imports neither torch nor a model's package."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from unembed import hub
from unembed.errors import UnavailableError, UnembedError

# Written last when an encoder is assembled: a folder without it is unfinished.
MANIFEST = "unembed-encoder.json"
# Other frameworks' copies of the same weights, and pickles, which are not loaded anyway.
NOT_NEEDED = (
    *("onnx/*", "openvino/*", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.ot", "*.gguf", "*.onnx"),
)


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


def hub_folder(repository: str, *, mirror: str | None = None) -> Path:
    """The folder of `repository`; of `mirror` where the first is closed or does not answer."""
    choices = [repository] if mirror is None else [repository, mirror]
    for choice in choices:
        if cached := hub.cached_snapshot(choice, ignore=NOT_NEEDED):
            return cached
    reasons = []
    for choice in choices:
        try:
            return hub.snapshot(choice, ignore=NOT_NEEDED)
        except UnembedError as error:
            if len(choices) == 1:
                raise
            reasons.append(error.message)
    raise UnavailableError(" ".join(reasons), hint=hub.LATER)
