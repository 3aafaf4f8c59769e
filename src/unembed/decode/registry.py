"""The strategies by name."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from unembed.decode.base import Decoder
from unembed.decode.beam import Beam
from unembed.decode.confidence import Confidence
from unembed.decode.entropy_bound import EntropyBound
from unembed.decode.euler import Euler
from unembed.decode.euler_remask import EulerRemask
from unembed.decode.mask_predict import MaskPredict
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
}


def make_decoder(name: str = DEFAULT, **options: Any) -> Decoder:
    """The decoder of that name; an unknown name or option is an error that lists the known ones."""
    made: Decoder = make_named(DECODERS, name, options)
    return made


def make_named(table: Mapping[str, Callable[..., Any]], name: str, options: Mapping[str, Any]) -> Any:
    """The strategy of that name in a table of them, with its options checked."""
    known = strategy_options(name, table)
    for option, value in options.items():
        kind = known.get(_current_name(table[name], option))
        if kind is None:
            raise _unknown_option(name, option, known)
        if not isinstance(value, (kind, int) if kind is float else kind):
            raise _wrong_type(name, option, kind, value)
    return table[name](**options)


def strategy_options(name: str, table: Mapping[str, Callable[..., Any]] = DECODERS) -> dict[str, type]:
    """A strategy's own options and their types."""
    if name not in table:
        close = difflib.get_close_matches(name, table, n=1)
        guess = f"Did you mean '{close[0]}'? " if close else ""
        raise UsageError(
            f"There is no decoding strategy '{name}'.", hint=f"{guess}The strategies: {', '.join(table)}."
        )
    strategy = table[name]
    if isinstance(strategy, type) and issubclass(strategy, BaseModel):
        defaults = {option: field.default for option, field in strategy.model_fields.items()}
    else:
        defaults = {field.name: field.default for field in dataclasses.fields(strategy)}  # type: ignore[arg-type]
    return {option: type(default) for option, default in defaults.items() if option != "name"}


def _current_name(strategy: Callable[..., Any], option: str) -> str:
    """Today's name of an option, which may have had another one before."""
    old: Mapping[str, str] = getattr(strategy, "OLD_NAMES", {})
    return old.get(option, option)


def parse_options(
    name: str, typed: Sequence[str], table: Mapping[str, Callable[..., Any]] = DECODERS
) -> dict[str, Any]:
    """Options as they are typed, NAME=VALUE, in the types that the strategy wants."""
    known, out = strategy_options(name, table), {}
    for one in typed:
        option, sign, value = one.partition("=")
        if not sign:
            raise UsageError(f"'{one}' is not NAME=VALUE.")
        kind = known.get(_current_name(table[name], option))
        if kind is None:
            raise _unknown_option(name, option, known)
        try:
            out[option] = kind(value)
        except ValueError as error:
            raise _wrong_type(name, option, kind, value) from error
    return out


def _wrong_type(name: str, option: str, kind: type, value: object) -> UsageError:
    article = "an" if kind is int else "a"
    return UsageError(f"The option {option} of '{name}' is {article} {kind.__name__}, not {value!r}.")


def _unknown_option(name: str, option: str, known: dict[str, type]) -> UsageError:
    return UsageError(
        f"The strategy '{name}' has no option '{option}'.", hint=f"Its options: {', '.join(known) or 'none'}."
    )
