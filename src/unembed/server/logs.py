"""One JSON object a line on stderr. Texts and vectors are in it only where the user asked for that."""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import IO, Any


class Log:
    """Writes events; `content` decides whether what clients sent may be among their fields."""

    def __init__(self, *, content: bool = False, file: IO[str] | None = None) -> None:
        self.content = content
        self._file = file

    def __call__(self, event: str, *, content: dict[str, Any] | None = None, **fields: Any) -> None:
        """`content` is dropped unless it was asked for."""
        line: dict[str, Any] = {"time": round(time.time(), 3), "event": event, **fields}
        if self.content and content:
            line.update(content)
        print(json.dumps(line, ensure_ascii=False, default=str), file=self._file or sys.stderr, flush=True)

    def failure(self, event: str, error: BaseException, **fields: Any) -> None:
        """Where it happened. The message may quote a text, so it counts as content."""
        places = [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        self(event, content={"message": str(error)}, error=type(error).__name__, trace=places, **fields)
