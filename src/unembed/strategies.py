"""Every strategy by name: the decoders, and the search that an encoder guides.

A new strategy is one file and one line here: a decoder in `decode/registry.py`, anything else below.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unembed.decode.registry import DECODERS, look_up
from unembed.decode.strategy import Strategy
from unembed.decode.strategy_options import check_options, option_schema
from unembed.search.guided_strategy import Guided
from unembed.search.refined_decoding import RefinedDecoding
from unembed.search.settings import GuidedSettings


@dataclass(frozen=True)
class Entry:
    """A strategy as the registry knows it."""

    options: type[Any]  # a dataclass or pydantic model: its fields are the strategy's options
    strategy: type[Any]  # a `Strategy`, made from the options

    @property
    def needs_encoder(self) -> bool:
        return bool(self.strategy.needs_encoder)

    @property
    def summary(self) -> str:
        """What it does, in a line: the first one of its file, behind the name."""
        text = inspect.getdoc(inspect.getmodule(self.options)) or ""
        return text.split("\n")[0].partition(": ")[2]

    @property
    def schema(self) -> dict[str, dict[str, Any]]:
        """By option: its JSON schema, with type, default and bounds."""
        return option_schema(self.options)


STRATEGIES: dict[str, Entry] = {
    **{name: Entry(decoder, RefinedDecoding) for name, decoder in DECODERS.items()},
    "guided": Entry(GuidedSettings, Guided),
}


def make_strategy(name: str, options: Mapping[str, Any] | None = None) -> Strategy:
    """The strategy of that name; an unknown name or option is an error that lists the known ones."""
    entry = look_up(name, STRATEGIES)
    made: Strategy = entry.strategy(check_options(name, entry.options, options or {}))
    return made
