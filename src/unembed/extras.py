"""Optional dependencies: import one, or say which command installs it."""

from __future__ import annotations

import importlib
from types import ModuleType

from unembed.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or raise an error that names the extra which provides it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        # A module that is installed but broken (a missing shared library, say) must not be
        # reported as absent.
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"{purpose} needs the package '{module.split('.')[0]}', which is not installed.",
            hint=f"Install it with: pip install 'unembed[{extra}]'",
        ) from error
