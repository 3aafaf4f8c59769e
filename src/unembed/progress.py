"""One progress bar for all long work: on stderr, with rate and time left, silent when piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress(Protocol):
    """What a long loop is given to report with."""

    def advance(self, amount: int = 1) -> None: ...

    def describe(self, text: str) -> None: ...


class SilentProgress:
    """Reports nothing: for libraries, tests and pipes."""

    def advance(self, amount: int = 1) -> None:
        pass

    def describe(self, text: str) -> None:
        pass


@contextmanager
def progress_bar(
    title: str, *, total: int | None, unit: str, done: int = 0, quiet: bool = False
) -> Iterator[Progress]:
    """A bar on stderr where a person watches; otherwise a silent object with the same methods.

    `done` is what an earlier, interrupted run had finished: it counts as progress, not as speed.
    """
    if quiet or not sys.stderr.isatty():
        yield SilentProgress()
        return
    bar = _rich_bar(unit)
    with bar:
        yield _RichHandle(bar, bar.add_task(title, total=total, completed=done))


def duration(seconds: float) -> str:
    """A time for people: in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


class _RichHandle:
    """One task of a rich progress bar."""

    def __init__(self, bar: RichProgress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def advance(self, amount: int = 1) -> None:
        self._bar.advance(self._task, amount)

    def describe(self, text: str) -> None:
        self._bar.update(self._task, description=text)


def _rich_bar(unit: str) -> RichProgress:
    """A bar with rate and time left."""
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class RateColumn(progress.ProgressColumn):
        """Units per second over the last stretch, so that a slow start does not linger."""

        def render(self, task: progress.Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} {unit}/s" if speed else f"- {unit}/s", style="cyan")

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        RateColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=False,
    )
