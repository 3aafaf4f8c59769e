"""Training as a person sees it: a bar with rate, time left and loss; the recovered sentences above it.

Where nobody watches (a pipe, a log file) the same comes as plain lines, now and then.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any

from unembed.cli.console import say

if TYPE_CHECKING:
    from unembed.training.config import TrainConfig
    from unembed.training.trainer_state import Progress

PLAIN_EVERY = 10.0  # seconds between plain lines about the loss
RATE_OVER = 30.0  # seconds that the rate is measured over


class TrainingDisplay:
    """A watcher for `train`: called with every event."""

    def __init__(self, config: TrainConfig, *, silent: bool = False) -> None:
        self._config = config
        self._silent = silent
        self._recent: deque[tuple[float, int]] = deque()  # time and samples, for the rate
        self._began: tuple[float, float] | None = None  # time and share at the start of this sitting
        self._loss = self._accuracy = "-"
        self._last_line = -PLAIN_EVERY
        self._bar = None if silent or not sys.stderr.isatty() else _Bar()

    def __enter__(self) -> TrainingDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, kind: str, progress: Progress, figures: dict[str, Any]) -> None:
        if self._silent:
            return
        share = self._share(progress)
        if self._began is None:
            self._began = (time.monotonic(), share)
        if kind == "step":
            self._measure(progress.samples)
        elif kind == "train":
            self._loss = f"{figures['loss']:.3f}"
        elif kind == "sample":
            self._accuracy = f"{figures['accuracy']:.3f}"
        if self._bar is not None:
            self._bar.show(share, self._status(progress, share))
        if kind == "train" and self._bar is None and time.monotonic() - self._last_line >= PLAIN_EVERY:
            self._last_line = time.monotonic()
            self._say(self._status(progress, share))
        for line in self._lines(kind, progress, figures):
            self._say(line)

    def _lines(self, kind: str, progress: Progress, figures: dict[str, Any]) -> list[str]:
        at = f"step {progress.step:,}"
        if kind == "start":
            verb = f"Resuming at {at}" if progress.step else "Training"
            return [
                f"{verb}: {figures['texts']:,} texts, {figures['parameters'] / 1e6:.1f}M parameters, "
                f"batch {figures['batch']}, {figures['precision']}, into {self._config.output}"
            ]
        if kind == "skipped":
            return [f"{at}: the gradient was not finite; the weights stay as they were"]
        if kind == "validation":
            return [f"{at}: validation bound {figures['bound']:.3f} nats per token"]
        if kind == "sample":
            head = (
                f"{at}: recovered from the vector and the length alone: token accuracy "
                f"{figures['accuracy']:.3f}, F1 {figures['f1']:.3f}, exact {figures['exact']:.3f} "
                f"(n = {figures['n']})"
            )
            return [head, *(line for pair in figures["examples"] for line in _pair(*pair))]
        if kind == "stopped":
            return [f"Stopped and saved at {at}. Run the same command again to resume."]
        if kind == "end":
            return [f"Done at {at}, after {_clock(progress.seconds)}."]
        return []

    def _status(self, progress: Progress, share: float) -> str:
        rate = self._rate()
        return (
            f"step {progress.step:,}  {share:4.0%}  {'-' if rate is None else f'{rate:,.0f}'} samples/s  "
            f"loss {self._loss}  accuracy {self._accuracy}  left {self._left(share)}"
        )

    def _share(self, progress: Progress) -> float:
        if self._config.minutes is not None:
            return min(1.0, progress.seconds / (60 * self._config.minutes))
        return min(1.0, progress.step / self._config.steps)

    def _measure(self, samples: int) -> None:
        now = time.monotonic()
        self._recent.append((now, samples))
        while now - self._recent[0][0] > RATE_OVER and len(self._recent) > 2:
            self._recent.popleft()

    def _rate(self) -> float | None:
        if len(self._recent) < 2:
            return None
        (then, before), (now, after) = self._recent[0], self._recent[-1]
        return (after - before) / max(now - then, 1e-9)

    def _left(self, share: float) -> str:
        assert self._began is not None
        began, from_share = self._began
        if share <= from_share:
            return "-"
        return _clock((time.monotonic() - began) / (share - from_share) * (1.0 - share))

    def _say(self, line: str) -> None:
        if self._bar is not None:
            self._bar.say(line)
        else:
            say(line)


class _Bar:
    """The terminal's one moving line; other lines scroll by above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True, highlight=False),
        )
        self._task = self._progress.add_task("starting", total=1.0)
        self._progress.start()

    def show(self, share: float, text: str) -> None:
        self._progress.update(self._task, completed=share, description=text)

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False)

    def close(self) -> None:
        self._progress.stop()


def _pair(original: str, recovered: str) -> tuple[str, str]:
    return f"    {original}", f" -> {recovered}"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
