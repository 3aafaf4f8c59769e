"""Encoders: one protocol, `encode(texts) -> float32 [N, D]`, and a registry of those that work here.

>>> from unembed.encoders import load_encoder
>>> load_encoder().encode(["A sentence."]).shape
(1, 384)
"""

from __future__ import annotations

from unembed.encoders.base import Encoder, EncoderInfo
from unembed.encoders.registry import EncoderEntry, list_encoders, load_encoder

__all__ = ["Encoder", "EncoderEntry", "EncoderInfo", "list_encoders", "load_encoder"]
