"""One progress bar for all long work: on stderr, with rate and time left, silent when piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


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

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Units per second over the last stretch, so that a slow start does not linger."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} {unit}/s" if speed else f"- {unit}/s", style="cyan")

    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=False,
    )
    task = bar.add_task(title, total=total, completed=done)

    class RichHandle:
        def advance(self, amount: int = 1) -> None:
            bar.advance(task, amount)

        def describe(self, text: str) -> None:
            bar.update(task, description=text)

    with bar:
        yield RichHandle()
