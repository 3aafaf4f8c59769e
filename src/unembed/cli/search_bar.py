"""A guided search on a progress bar: rounds, encoder calls, how near it came; and Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from unembed.progress import Progress

if TYPE_CHECKING:
    from unembed.decode.observer import SearchProgress, Update


class SearchBar:
    """An observer that writes the state of a search on a progress bar; with `counts`, calls advance it."""

    def __init__(self, bar: Progress, title: str, *, counts: bool = False) -> None:
        self._bar, self._title, self._counts = bar, title, counts
        self._latest: dict[int, SearchProgress] = {}  # by row, of this batch, the finished ones too
        self._calls = 0

    def __call__(self, updates: Sequence[Update]) -> None:
        states = {update.row: update.search for update in updates if update.search is not None}
        if not states:
            return
        if not states.keys() <= self._latest.keys():  # a new batch
            self._latest, self._calls = {}, 0
        self._latest.update(states)
        calls = sum(state.encoder_calls for state in self._latest.values())
        if self._counts:
            self._bar.advance(calls - self._calls)
        self._calls = calls
        self._bar.describe(f"{self._title}: {self._state(updates[0].step)}")

    def _state(self, rounds: int) -> str:
        states = list(self._latest.values())
        mean = sum(state.cosine for state in states) / len(states)
        if len(states) == 1:
            return f"round {rounds}, cosine {mean:.4f}"
        found = sum(state.found for state in states)
        return f"round {rounds}, {self._calls:,} calls, mean cosine {mean:.4f}, {found} found"


class Interrupts:
    """Whether Ctrl-C was pressed. A search ends with it and gives what it has, so nobody else can tell."""

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
