"""An extension of griffe: examples in docstrings (`>>> ...` and what it prints) become code blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

# From a prompt to the next empty line.
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Without it, Markdown takes `['main', 'noise']` in an example's output for a link."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
