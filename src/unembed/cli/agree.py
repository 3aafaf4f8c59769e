"""Which words of a recovered text agree with the original."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

# Chinese and Japanese are compared character by character: they put no spaces between words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’]\w+)?")


def agreeing(original: str, recovered: str) -> tuple[list[tuple[int, int]], int]:
    """Where the recovered words stand that agree, in their order; and how many words the original has."""
    ours = list(_WORD.finditer(recovered))
    theirs = _WORD.findall(original.casefold())
    matcher = SequenceMatcher(None, theirs, [word.group().casefold() for word in ours], autojunk=False)
    blocks = matcher.get_matching_blocks()
    agree = [place for block in blocks for place in range(block.b, block.b + block.size)]
    return [ours[place].span() for place in agree], len(theirs)
