"""One queue in front of one worker thread: jobs that wait together and have equal keys run together."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from unembed.server.problems import Problem

MAX_RETRY_AFTER = 60  # seconds that Retry-After asks for at most
GATHERING_SHARE = 0.1  # of the time that the work waiting will take: at most this long is spent on gathering


@dataclass(eq=False)
class Job:
    """One request's work. Jobs of equal `key` may share a batch."""

    key: Hashable
    work: Any
    size: int  # vectors
    client: str
    position: int = 0  # in the queue, on arrival: jobs ahead
    arrived: float = field(default_factory=time.monotonic)
    started: float = 0.0
    answered: float = math.inf
    gone: bool = False  # nobody waits for it any more; the worker looks at this between steps
    batch: int = 0  # vectors that it ran with
    watched: bool = False  # whether somebody wants to hear about its position and steps
    future: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    news: asyncio.Queue[tuple[str, dict[str, Any]] | None] = field(default_factory=asyncio.Queue)

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Send an event to the client, from any thread."""
        if self.watched and not self.gone:
            self._soon(self.news.put_nowait, (name, data))

    def finish(self, result: Any = None, error: Exception | None = None) -> None:
        """Answer the job, from any thread."""
        self.answered = time.monotonic()

        def settle() -> None:
            if not self.future.done():
                if error is not None:
                    self.future.set_exception(error)
                else:
                    self.future.set_result(result)
            self.news.put_nowait(None)

        self._soon(settle)

    def _soon(self, call: Callable[..., None], *values: Any) -> None:
        loop = self.future.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(call, *values)


class Batcher:
    """Gathers jobs and runs them, oldest first, on a thread of their own.

    `run(jobs)` answers every job that it is given. While it runs, new jobs gather, so that batches grow
    under load. Clients that were just answered come back one after the other: a batch waits until there are
    as many as before, if a job arrives every `gather` seconds, up to a small share of the time that it will
    take. If nobody else ran or waited with the job before, the next one starts at once.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Job]], None],
        *,
        max_batch: int,
        max_waiting: int,
        max_client: int,
        gather: float,
        on_failure: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._run = run
        self._max_batch, self._max_waiting, self._max_client = max_batch, max_waiting, max_client
        self._gather = gather
        self._on_failure = on_failure
        self._waiting: deque[Job] = deque()
        self._arrival = asyncio.Event()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="unembed-model")
        self._seconds_each = 0.05  # per vector: a moving average
        self._task: asyncio.Task[None] | None = None
        self._running: Sequence[Job] = ()
        self._expected = 0  # jobs that the last batch had, and those that waited for its end
        self._stopping = False

    @property
    def waiting(self) -> int:
        """Vectors that wait."""
        return sum(job.size for job in self._waiting)

    def start(self) -> None:
        """Start working, on the running event loop."""
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Answer those who wait, those whose work is running, and those who still come, with 503; and end."""
        self._stopping = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for job in (*self._running, *self._waiting):
            job.gone = True
            job.finish(error=_stopping())
        self._waiting.clear()
        # What is running looks at `gone` after every step: it ends soon, and the loop goes on meanwhile.
        await asyncio.to_thread(self._worker.shutdown, wait=True, cancel_futures=True)

    async def call(self, function: Callable[..., None], *values: Any) -> None:
        """Run something else on the worker thread, before what has not begun there."""
        await asyncio.get_running_loop().run_in_executor(self._worker, function, *values)

    def submit(self, job: Job) -> None:
        """Join the queue, or be told when to come back."""
        if self._stopping:
            raise _stopping()
        held = Counter({job.client: job.size})
        for other in self._waiting:
            held[other.client] += other.size
        if held.total() > self._max_waiting:
            raise Problem(
                503, "full", "The queue is full.", hint="Try again soon.", retry_after=self._retry_after()
            )
        if held[job.client] > self._max_client:
            raise Problem(
                429,
                "too_many",
                "Too much of your work is waiting already.",
                hint="Wait for some of it to be answered.",
                retry_after=self._retry_after(),
            )
        job.position = len(self._waiting)
        self._waiting.append(job)
        job.tell("queued", {"position": job.position})
        self._arrival.set()

    def leave(self, job: Job) -> None:
        """The client is gone: do not begin, and stop at the next step if it has begun."""
        job.gone = True
        if job in self._waiting:
            self._waiting.remove(job)
            self._tell_positions()

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                await self._next_arrival()
            await self._gather_more()
            jobs = self._next()
            if not jobs:
                continue
            self._tell_positions()
            began = time.monotonic()
            size = sum(job.size for job in jobs)
            for job in jobs:
                job.started, job.batch = began, size
                job.tell("started", {"batch": size})
            self._running = jobs
            await self.call(self._attempt, jobs)
            self._running = ()
            # Whoever was just answered may be back already, and is not counted twice.
            self._expected = len(jobs) + sum(job.arrived < jobs[0].answered for job in self._waiting)
            each = (time.monotonic() - began) / size
            self._seconds_each += 0.2 * (each - self._seconds_each)

    async def _gather_more(self) -> None:
        """Wait while those who are expected keep coming."""
        loop, began, before = asyncio.get_running_loop(), time.monotonic(), 0
        while before < len(self._waiting) < self._expected and self.waiting < self._max_batch:
            before = len(self._waiting)
            most = GATHERING_SHARE * self._seconds_each * self.waiting
            left = min(self._gather, began + most - time.monotonic())
            if left <= 0:
                break
            timer = loop.call_later(left, self._arrival.set)
            await self._next_arrival()
            timer.cancel()

    async def _next_arrival(self) -> None:
        self._arrival.clear()
        await self._arrival.wait()

    def _next(self) -> list[Job]:
        """The oldest job, and those behind it that can share its batch."""
        if not self._waiting:
            return []
        first = self._waiting[0]
        jobs, size = [first], first.size
        for job in itertools.islice(self._waiting, 1, None):
            if job.key == first.key and size + job.size <= self._max_batch:
                jobs.append(job)
                size += job.size
        taken = set(map(id, jobs))
        self._waiting = deque(job for job in self._waiting if id(job) not in taken)
        return jobs

    def _attempt(self, jobs: Sequence[Job]) -> None:
        """On the worker. If a batch fails, each job gets a try alone: one must not fail for another."""
        try:
            self._run(jobs)
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._attempt([job])
                return
            self._on_failure(error)
            jobs[0].finish(error=error)

    def _tell_positions(self) -> None:
        for position, job in enumerate(self._waiting):
            job.tell("queued", {"position": position})

    def _retry_after(self) -> int:
        return max(1, min(MAX_RETRY_AFTER, math.ceil(self.waiting * self._seconds_each)))


def _stopping() -> Problem:
    return Problem(503, "stopping", "The server is stopping.", retry_after=5)
