"""The settings to measure: a defence at one strength each, no defence first, then every method once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unembed.defences import Defence, DefenceInfo, defence_names, make_defence, parse_defence

NONE = "none"


@dataclass(frozen=True)
class Setting:
    """A defence as it is typed: `gaussian:sigma=0.01`."""

    key: str
    info: DefenceInfo
    strength: float | None  # where the method has one

    def make(self) -> Defence:
        """A fresh one, not fitted."""
        return parse_defence(self.key)


def all_settings(typed: Sequence[str]) -> list[Setting]:
    """`all`, or names with or without parameters; a name alone is the method's whole curve.

    What comes first is measured first: no defence, then the middle of every curve, then the rest.
    """
    names = [name for part in typed for name in split_names(part)]
    if names == ["all"]:
        names = list(defence_names())
    found: dict[str, tuple[int, Setting]] = {}
    for name in [NONE, *names]:
        for turn, one in enumerate(_curve(name)):
            found.setdefault(one.key, (turn, one))
    return [one for _, one in sorted(found.values(), key=lambda item: item[0])]


def split_names(typed: str) -> list[str]:
    """`a:x=1,y=2,b` is two names: what has a sign and no colon is one more parameter."""
    out: list[str] = []
    for part in filter(None, (part.strip() for part in typed.split(","))):
        if out and "=" in part and ":" not in part:
            out[-1] += f",{part}"
        else:
            out.append(part)
    return out


def _curve(name: str) -> list[Setting]:
    """The middle strength first, then outwards."""
    if ":" in name:
        defence = parse_defence(name)
        return [Setting(name, defence.info, _strength(defence))]
    info = make_defence(name).info
    if info.strength is None or not info.strengths:
        return [Setting(name, info, None)]
    middle = (len(info.strengths) - 1) / 2
    order = sorted(info.strengths, key=lambda value: abs(info.strengths.index(value) - middle))
    return [Setting(f"{name}:{info.strength}={value:g}", info, value) for value in order]


def _strength(defence: Defence) -> float | None:
    value = None if defence.info.strength is None else defence.describe().get(defence.info.strength)
    return float(value) if isinstance(value, (int, float)) else None
