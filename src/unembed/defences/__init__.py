"""Defences: what is done to vectors so that less of their texts can be read out, one method per file.

>>> defence = parse_defence("gaussian:sigma=0.02")
>>> defence.fit(vectors, seed=0)
>>> stored = defence.apply(vectors)
"""

from unembed.defences.base import Defence, DefenceInfo
from unembed.defences.registry import defence_names, make_defence, parse_defence

__all__ = ["Defence", "DefenceInfo", "defence_names", "make_defence", "parse_defence"]
