"""What training asks of its process: to stop after the current step, and to keep the memory that it frees."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# glibc's names for what mallopt sets.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


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


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed memory in this process; false where there is no glibc.

    By default it hands large blocks back to the system at once, and gets them again page by page, zeroed:
    for a step's logits and gradients, hundreds of megabytes, step after step, a fifth of the whole time.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, -1))
