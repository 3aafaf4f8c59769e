"""The version, for whoever must not import the package's public names along with it."""

from __future__ import annotations

__version__ = "0.1.0"
