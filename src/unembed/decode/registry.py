"""The strategies by name."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable
from typing import Any

from unembed.decode.base import Decoder
from unembed.decode.beam import Beam
from unembed.decode.confidence import Confidence
from unembed.decode.entropy_bound import EntropyBound
from unembed.decode.euler import Euler
from unembed.decode.euler_remask import EulerRemask
from unembed.decode.mask_predict import MaskPredict
from unembed.decode.search import Search
from unembed.decode.sequential import Sequential
from unembed.decode.two_stage import TwoStage
from unembed.errors import UsageError

DEFAULT = "confidence"
DECODERS: dict[str, Callable[..., Decoder]] = {
    "sequential": Sequential,
    "euler": Euler,
    "euler-remask": EulerRemask,
    "two-stage": TwoStage,
    "confidence": Confidence,
    "mask-predict": MaskPredict,
    "entropy-bound": EntropyBound,
    "beam": Beam,
    "search": Search,
}


def make_decoder(name: str = DEFAULT, **options: Any) -> Decoder:
    """The decoder of that name; an unknown name or option is an error that lists the known ones."""
    if name not in DECODERS:
        close = difflib.get_close_matches(name, DECODERS, n=1)
        guess = f"Did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"There is no decoding strategy '{name}'.", hint=f"{guess}The strategies: {', '.join(DECODERS)}."
        )
    maker = DECODERS[name]
    known = [field.name for field in dataclasses.fields(maker) if field.name != "name"]  # type: ignore[arg-type]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UsageError(
            f"The strategy '{name}' has no option {', '.join(unknown)}.",
            hint=f"Its options: {', '.join(known) or 'none'}.",
        )
    return maker(**options)
