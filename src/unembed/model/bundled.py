"""The model that comes with the package."""

from __future__ import annotations

from pathlib import Path

BUNDLED = Path(__file__).parents[1] / "assets" / "minilm-en"
