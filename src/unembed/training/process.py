"""What training asks of its process: to stop after the current step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM set an event; the loop ends its step and saves. A second one interrupts at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def request(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = {kind: signal.signal(kind, request) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
