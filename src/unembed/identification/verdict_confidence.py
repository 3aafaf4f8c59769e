"""How sure a verdict is: how often verdicts of its kind were right when it could be checked.

benchmarks/identification.py counts that on held-out texts of every known encoder, on mixtures, on foreign
vectors, and on texts that belong to other vectors; the counts come with the package.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from unembed.identification.verdict import Verdict
from unembed.storage import read_json

MEASURED = Path(__file__).parents[1] / "assets" / "identification-errors.json"
ROWS = (1, 8, 32, 128)  # sizes of the samples that were measured
_WORDS = ((0.99, "practically certain"), (0.95, "very likely"), (0.8, "likely"), (0.0, "possible"))
NO_CLAIM = "no claim"


def confidence(verdict: Verdict, *, rows: int, texts: bool) -> tuple[float, str]:
    """The chance that such a verdict is right, and a sentence that says where that comes from."""
    if verdict is Verdict.UNKNOWN:
        return 0.0, "Nothing is claimed."
    size = max((size for size in ROWS if size <= rows), default=ROWS[0])
    key = case_key(verdict, size, texts=texts)
    counted = _measured().get(key)
    if not counted or not counted["claims"]:
        return 0.5, "A verdict of this kind never came up when errors were measured: a coin's chance."
    claims, wrong = counted["claims"], counted["wrong"]
    # The rule of succession: no number of right verdicts proves that the next one is.
    chance = (claims - wrong + 1) / (claims + 2)
    by = "with texts" if texts else "without texts"
    measured = f"Of {claims} such verdicts on {size} vectors {by}, {wrong} were wrong"
    return chance, f"{measured} (benchmarks/identification.py)."


def in_words(chance: float) -> str:
    """A confidence for people."""
    if chance <= 0:
        return NO_CLAIM
    return next(word for least, word in _WORDS if chance >= least)


def case_key(verdict: Verdict, size: int, *, texts: bool) -> str:
    """The name of a kind of verdict in the measurement."""
    return f"{verdict.value}, {size} vectors, {'texts' if texts else 'no texts'}"


@cache
def _measured() -> dict[str, Any]:
    if not MEASURED.is_file():
        return {}
    counted: dict[str, Any] = read_json(MEASURED)["verdicts"]
    return counted
