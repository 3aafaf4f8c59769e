"""Some rows as an attacker sees them, evenly from the best to the worst; words under blocks unless asked
for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from unembed.audit.attack_rows import AttackRow
from unembed.audit.audit_report import Example, Piece
from unembed.audit.case import Case
from unembed.audit.common_words import COMMON
from unembed.personal.came_back import normalise
from unembed.storage import digest_bytes

COUNT = 6
_PIECE = re.compile(r"[^\W_]+|[\W_]+")
_WORD = re.compile(r"[^\W_]+")


def choose_examples(
    case: Case, rows: Sequence[AttackRow], statistics: dict[int, dict[str, float]]
) -> tuple[Example, ...]:
    """Examples of one attacker; none where there are no texts to set beside."""
    measured = [row for row in rows if row.canary is None and "f1" in statistics.get(row.target, {})]
    ranked = sorted(measured, key=lambda row: (-statistics[row.target]["f1"], row.target))
    if not ranked:
        return ()
    count = min(COUNT, len(ranked))
    places = [round(place * (len(ranked) - 1) / max(1, count - 1)) for place in range(count)]
    show = case.config.show_texts
    out = []
    for row in (ranked[place] for place in places):
        target, values = case.targets[row.target], statistics[row.target]
        original, recovered = target.text or "", row.recovered or ""
        out.append(
            Example(
                attacker=row.attacker,
                row=target.id if show else digest_bytes(target.id.encode("utf-8", "replace"))[:8],
                exact=bool(values["exact"]),
                f1=values["f1"],
                original=pieces(original, recovered, show=show),
                recovered=pieces(recovered, original, show=show),
            )
        )
    return tuple(out)


def pieces(text: str, other: str, *, show: bool) -> tuple[Piece, ...]:
    """A text cut into words and what is between; each word says whether the other text has it too."""
    left = Counter(_WORD.findall(normalise(other)))
    out = []
    for piece in _PIECE.findall(text):
        if not _WORD.fullmatch(piece):
            out.append(Piece(text=piece, width=len(piece)))
            continue
        word = normalise(piece)
        same = left[word] > 0
        left[word] -= same
        shown = show or word in COMMON
        out.append(Piece(text=piece if shown else None, width=len(piece), same=same))
    return tuple(out)
