"""From a vector to tokens: one loop that runs the model, one file per strategy that decides.

>>> decoder = make_decoder("confidence")
>>> decode(denoiser, vectors, lengths, decoder, steps=8).tokens
"""

from __future__ import annotations

from unembed.decode.base import Decoder, State
from unembed.decode.denoising_loop import Decoded, decode, decode_all
from unembed.decode.registry import DECODERS, make_decoder

__all__ = ["DECODERS", "Decoded", "Decoder", "State", "decode", "decode_all", "make_decoder"]
