"""The decoders by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from unembed.decode.base import Decoder
from unembed.decode.beam import Beam
from unembed.decode.confidence import Confidence
from unembed.decode.entropy_bound import EntropyBound
from unembed.decode.euler import Euler
from unembed.decode.euler_remask import EulerRemask
from unembed.decode.mask_predict import MaskPredict
from unembed.decode.sequential import Sequential
from unembed.decode.strategy_options import check_options
from unembed.decode.two_stage import TwoStage
from unembed.errors import UsageError
from unembed.invert_config import DEFAULT_STRATEGY

_T = TypeVar("_T")

DECODERS: dict[str, type[Decoder]] = {
    "sequential": Sequential,
    "euler": Euler,
    "euler-remask": EulerRemask,
    "two-stage": TwoStage,
    "confidence": Confidence,
    "mask-predict": MaskPredict,
    "entropy-bound": EntropyBound,
    "beam": Beam,
}


def make_decoder(name: str = DEFAULT_STRATEGY, **options: Any) -> Decoder:
    """The decoder of that name; an unknown name or option is an error that lists the known ones."""
    made: Decoder = check_options(name, look_up(name, DECODERS), options)
    return made


def look_up(name: str, table: Mapping[str, _T]) -> _T:
    """The entry of that name, or an error that lists the names."""
    if name not in table:
        close = difflib.get_close_matches(name, table, n=1)
        guess = f"Did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"There is no decoding strategy '{name}'.", hint=f"{guess}The strategies: {', '.join(table)}."
        )
    return table[name]
