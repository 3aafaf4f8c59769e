"""Texts into training data: `collect` them once, `encode` them for each encoder, read them by index.

>>> from unembed.data import PreparedData
>>> data = PreparedData.open("data/short")
>>> data.split("train").texts([0])
['the snow - flakes became larger and larger.']
"""

from __future__ import annotations

from unembed.data.collected import CollectedTexts
from unembed.data.config import CollectConfig, EncodeConfig, PrepareConfig
from unembed.data.prepared import PreparedData, Split

__all__ = ["CollectConfig", "CollectedTexts", "EncodeConfig", "PrepareConfig", "PreparedData", "Split"]
