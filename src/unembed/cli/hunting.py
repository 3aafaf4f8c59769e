"""A guided search as a person sees it: its rounds, its encoder calls, how near it came; and Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from unembed.progress import Progress

if TYPE_CHECKING:
    from unembed.search.search_state import SearchState


class HuntNews:
    """An observer that writes the state of the search on a progress bar; `counts` calls on it, too."""

    def __init__(self, bar: Progress, title: str, *, counts: bool = False) -> None:
        self._bar, self._title, self._counts = bar, title, counts
        self._hunts: Sequence[SearchState] = ()  # of this window, the finished ones too
        self._round = self._calls = 0

    def __call__(self, hunts: Sequence[SearchState]) -> None:
        known = {id(hunt) for hunt in self._hunts}
        if any(id(hunt) not in known for hunt in hunts):  # a new window
            self._hunts, self._round, self._calls = list(hunts), 0, 0
        calls = sum(hunt.calls for hunt in self._hunts)
        if self._counts:
            self._bar.advance(calls - self._calls)
        self._calls = calls
        self._bar.describe(f"{self._title}: {self._state()}")
        self._round += 1

    def _state(self) -> str:
        cosines = [hunt.best.cosine for hunt in self._hunts if hunt.best is not None]
        if not cosines:
            return f"round {self._round}"
        if len(self._hunts) == 1:
            return f"round {self._round}, cosine {cosines[0]:.4f}"
        found = sum(hunt.found for hunt in self._hunts)
        mean = sum(cosines) / len(cosines)
        return f"round {self._round}, {self._calls:,} calls, mean cosine {mean:.4f}, {found} found"


class Interrupts:
    """Whether Ctrl-C was pressed: a search ends with it and gives what it has, so that nobody else knows."""

    def __init__(self) -> None:
        self.seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        signal.default_int_handler(number, frame)


@contextmanager
def noticing_interrupts() -> Iterator[Interrupts]:
    """Notice Ctrl-C, and let it do what it does."""
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
