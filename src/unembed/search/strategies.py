"""Every strategy by name: the decoders, and the search that an encoder guides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unembed.decode.base import Decoder
from unembed.decode.registry import DECODERS, make_named
from unembed.decode.registry import parse_options as _parse
from unembed.decode.registry import strategy_options as _options
from unembed.search.settings import GuidedSettings

Guided = GuidedSettings  # the name under which others import it

STRATEGIES: dict[str, Callable[..., Decoder | Guided]] = {**DECODERS, "guided": Guided}


def make_strategy(name: str, **options: Any) -> Decoder | Guided:
    """The strategy of that name; an unknown name or option is an error that lists the known ones."""
    made: Decoder | Guided = make_named(STRATEGIES, name, options)
    return made


def strategy_options(name: str) -> dict[str, type]:
    """A strategy's own options and their types."""
    return _options(name, STRATEGIES)


def parse_options(name: str, typed: Sequence[str]) -> dict[str, Any]:
    """Options as they are typed, NAME=VALUE, in the types that the strategy wants."""
    return _parse(name, typed, STRATEGIES)
