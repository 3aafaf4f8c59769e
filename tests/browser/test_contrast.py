"""Readable: WCAG AA for every colour of text on what it stands on, in both themes."""

from __future__ import annotations

import re
from colorsys import hls_to_rgb
from pathlib import Path

import pytest

import unembed.server

CSS = (Path(unembed.server.__file__).parent / "static/css/base.css").read_text()
PAIRS = [
    (ink, ground)
    for ink in ("ink", "soft", "accent", "good", "bad")
    for ground in ("bg", "panel", "field")
] + [("bad", "bad-soft"), ("ink", "bad-soft"), ("accent-ink", "accent"), ("ink", "accent-soft"),
     ("accent", "accent-soft"), ("ink", "low"), ("ink", "high")]  # fmt: skip


def colours(theme: str) -> dict[str, tuple[float, float, float]]:
    block = re.search(
        r":root(\[.*?\])? \{(.*?)\n\}", CSS if theme == "light" else CSS[CSS.index(":root[") :], re.S
    )
    found = {}
    for name, value in re.findall(r"--([\w-]+): (#[0-9a-f]{6}|\d+ \d+% \d+%)", block.group(2)):
        if value.startswith("#"):
            found[name] = tuple(int(value[i : i + 2], 16) / 255 for i in (1, 3, 5))
        else:
            hue, saturation, light = (float(part.strip("%")) for part in value.split())
            found[name] = hls_to_rgb(hue / 360, light / 100, saturation / 100)
    return found


def luminance(colour: tuple[float, float, float]) -> float:
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_contrast(theme: str, ink: str, ground: str) -> None:
    known = colours(theme)
    lighter, darker = sorted((luminance(known[ink]), luminance(known[ground])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
