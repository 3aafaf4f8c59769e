"""Figures in a page of the documentation: what stands between two marks is replaced by what was measured."""

from __future__ import annotations

import re
from pathlib import Path


def renew(page: Path, name: str, text: str) -> None:
    """Put figures between a page's marks."""
    before = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    marked = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not marked.search(before):
        raise SystemExit(f"{page} has no marks {begin} ... {end}")
    page.write_text(marked.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", before), encoding="utf-8")
