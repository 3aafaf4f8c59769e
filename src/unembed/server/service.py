"""What the endpoints do: check, queue, wait; and notice when a client leaves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import numpy as np
from fastapi import Request

from unembed.decode.registry import look_up
from unembed.decode.strategy_options import check_options
from unembed.server.config import ServeConfig
from unembed.server.engine import Engine, Inverted
from unembed.server.events import HEARTBEAT, event
from unembed.server.monitoring import Log, ServerMetrics
from unembed.server.problems import Problem, as_problem
from unembed.server.queue import Batcher, Job
from unembed.server.schemas import EncodeRequest, InvertRequest, InvertResponse, Work
from unembed.server.warm_up import warm_up_requests
from unembed.strategies import STRATEGIES, Entry
from unembed.vectors.plausibility import check_numbers

HEARTBEAT_SECONDS = 10.0  # without news, until a stream sends a comment
PRESENCE = 0.25  # seconds between checks whether a client is still there
# A numeric option may be this large, or so many times its default, whichever is more.
MAX_OPTION, MAX_TIMES_DEFAULT = 16, 4
OWN_LIMITS = ("max_encoder_calls", "seconds")  # the server's configuration has limits for these


class Service:
    """The models behind one queue."""

    def __init__(
        self, engines: dict[str, Engine], config: ServeConfig, metrics: ServerMetrics, log: Log
    ) -> None:
        self.engines, self.config, self.metrics, self.log = engines, config, metrics, log
        self.default = next(iter(engines))
        self.queue: Batcher | None = None  # from the start on
        self.status: Literal["starting", "ok", "stopping"] = "starting"

    def start(self) -> None:
        """Open the queue, on the running event loop."""
        config = self.config
        self.queue = Batcher(
            self._run,
            max_batch=config.max_batch,
            max_waiting=config.max_waiting,
            max_client=config.max_client,
            gather=config.gather,
            on_failure=lambda error: self.log.failure("failure", error),
        )
        self.metrics.waiting.set_function(lambda: self.waiting)
        self.queue.start()

    async def warm_up(self) -> None:
        """Run what a first request would have to wait for, where requests run; then the server is ready.

        Where it fails, so may requests of that kind: the log says why, and the others are served.
        """
        assert self.queue is not None
        for name, engine in self.engines.items():
            for request in warm_up_requests(engine):
                job = Job(None, request, 1, "warm-up")
                try:
                    await self.queue.call(engine.invert, [job])
                except Exception as error:
                    self.log.failure("warm_up", error, model=name, strategy=request.strategy)
        self.status = "ok"

    async def stop(self) -> None:
        """Answer everybody with 503, and close the queue."""
        self.status = "stopping"
        if self.queue is not None:
            await self.queue.stop()

    @property
    def waiting(self) -> int:
        """Vectors that wait."""
        return 0 if self.queue is None else self.queue.waiting

    def engine(self, name: str | None) -> tuple[str, Engine]:
        """The model of that name."""
        wanted = name or self.default
        if wanted not in self.engines:
            raise Problem(
                404, "model", "There is no such model here.", hint=f"The models: {', '.join(self.engines)}."
            )
        return wanted, self.engines[wanted]

    def encode_job(self, request: EncodeRequest, client: str) -> Job:
        """A job that is checked and not yet in the queue."""
        name, engine = self.engine(request.model)
        self._check_texts(engine, request.texts)
        return Job(("encode", name), request.texts, len(request.texts), client)

    def invert_job(self, request: InvertRequest, client: str, *, watched: bool = False) -> Job:
        """The same for an inversion. Its key holds everything that decides a text."""
        name, engine = self.engine(request.model)
        self._check_texts(engine, request.texts)
        self._check_texts(engine, request.originals, encoder=False)
        entry = look_up(request.strategy, STRATEGIES)
        self._check_options(request, entry)
        given = request.texts
        if request.vectors is not None:
            self._check_vectors(engine, request.vectors)
            given = [""] * len(request.vectors)
        assert given is not None
        if entry.needs_encoder:
            request = self._bounded(engine, entry, request, len(given))
        if request.lengths is not None:
            engine.inverter.stream(iter(()), lengths=request.lengths)  # checks them, reads nothing
        # Known and guessed lengths do not share a batch.
        key = ("invert", name, request.key, request.lengths is not None)
        return Job(key, request, len(given), client, watched=watched)

    def _check_options(self, request: InvertRequest, entry: Entry) -> None:
        """The strategy's own options: known, of their types, and not so large that the server pays for it."""
        checked = check_options(request.strategy, entry.options, request.options)
        for option, schema in entry.schema.items():
            value, default = getattr(checked, option), schema.get("default", 0)
            if option in OWN_LIMITS or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            most = max(MAX_OPTION, MAX_TIMES_DEFAULT * default)
            if value > most:
                raise Problem(422, "invalid", f"options.{option}: at most {most:g} on this server.")

    def _bounded(self, engine: Engine, entry: Entry, request: InvertRequest, vectors: int) -> InvertRequest:
        """A guided request with its share of encoder calls and its deadline written into it."""
        if request.encoder is None and not engine.can_encode:
            raise _no_encoder(engine, "it cannot guide a search")
        most = self.config.max_encoder_calls
        options = check_options(request.strategy, entry.options, request.options)
        calls = options.max_encoder_calls if "max_encoder_calls" in request.options else most // vectors
        if calls * vectors > most:
            raise Problem(
                422,
                "too_many_calls",
                f"A request may take {most:,} encoder calls at most, all of its vectors together.",
                hint="Lower options.max_encoder_calls, or send fewer vectors.",
            )
        longest = min(self.config.search_seconds, self.config.timeout / 2)
        limits = {"max_encoder_calls": calls, "seconds": min(options.seconds or longest, longest)}
        return request.model_copy(update={"options": {**request.options, **limits}})

    async def answer(self, job: Job, request: Request) -> Any:
        """Queue the job and wait for its answer, until the client leaves or its time is over."""
        self._submit(job)
        presence = asyncio.create_task(_until_gone(request))
        try:
            await asyncio.wait(
                {job.future, presence}, timeout=self.config.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if job.future.done():
                return job.future.result()
            if presence.done():
                raise Problem(499, "left", "The client left.")
            raise self._too_slow()
        finally:
            presence.cancel()
            self._settle(job)

    async def events(self, job: Job, name: str, request: InvertRequest) -> AsyncIterator[bytes]:
        """The same as a stream of events, which the framework closes when the client leaves."""
        deadline = time.monotonic() + self.config.timeout
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._too_slow()
                try:
                    news = await asyncio.wait_for(job.news.get(), min(left, HEARTBEAT_SECONDS))
                except (TimeoutError, asyncio.TimeoutError):
                    yield HEARTBEAT
                    continue
                if news is None:
                    break
                yield event(*news)
            answer = self.response(job, name, request, await job.future)
            yield event("result", answer.model_dump())
        except Exception as error:
            yield event("error", as_problem(error).body())
        finally:
            self._settle(job)

    def submit_watched(self, job: Job) -> None:
        """Before the first event, so that a full queue is an HTTP status and not an event."""
        self._submit(job)

    def response(self, job: Job, name: str, request: InvertRequest, found: Inverted) -> InvertResponse:
        """The answer of both endpoints that invert."""
        self.metrics.passes.inc(sum(one.forward_passes for one in found.results))
        self.metrics.calls.inc(sum(one.encoder_calls for one in found.results))
        work = Work(
            seconds=round(found.seconds, 4),
            waited=round(job.started - job.arrived, 4),
            position=job.position,
            batch=job.batch,
        )
        return InvertResponse(
            model=name, strategy=request.strategy, results=found.results, warning=found.warning, work=work
        )

    def _submit(self, job: Job) -> None:
        if self.queue is None:
            raise Problem(503, "stopping", "The server is not ready.", retry_after=2)
        try:
            self.queue.submit(job)
        except Problem as problem:
            self.metrics.refused.labels(problem.code).inc()
            raise

    def _settle(self, job: Job) -> None:
        if not job.future.done():
            self.metrics.abandoned.inc()
            if self.queue is not None:
                self.queue.leave(job)
            job.future.cancel()
        elif not job.future.cancelled():
            with contextlib.suppress(Exception):
                job.future.exception()  # marks it as seen: asyncio does not log it

    def _too_slow(self) -> Problem:
        return Problem(
            503,
            "timeout",
            "The request took too long.",
            hint="Ask for fewer vectors, steps or lengths.",
            retry_after=5,
        )

    def _run(self, jobs: Sequence[Job]) -> None:
        """Run a batch, on the worker thread."""
        kind, name = jobs[0].key[:2]  # type: ignore[index]
        size = sum(job.size for job in jobs)
        self.metrics.batch.labels(kind).observe(size)
        self.metrics.vectors.labels(kind).inc(size)
        for job in jobs:
            self.metrics.waited.observe(job.started - job.arrived)
        engine = self.engines[name]
        (engine.encode if kind == "encode" else engine.invert)(jobs)

    def _check_texts(self, engine: Engine, texts: list[str] | None, *, encoder: bool = True) -> None:
        if texts is None:
            return
        if encoder and not engine.can_encode:
            raise _no_encoder(engine, "send vectors")
        self._check_count(len(texts), "texts")
        if any(len(text) > self.config.max_text for text in texts):
            raise Problem(422, "too_long", f"A text may have {self.config.max_text:,} characters at most.")
        if any(not text.strip() for text in texts):
            raise Problem(422, "empty", "A text is empty.")

    def _check_count(self, count: int, what: str) -> None:
        if count > self.config.max_vectors:
            raise Problem(
                422, "too_many_inputs", f"A request may have {self.config.max_vectors} {what} at most."
            )

    def _check_vectors(self, engine: Engine, vectors: list[list[float]]) -> None:
        self._check_count(len(vectors), "vectors")
        dimension = engine.inverter.dimension
        wrong = next((len(vector) for vector in vectors if len(vector) != dimension), None)
        if wrong is not None:
            check_numbers(np.zeros((1, wrong), dtype=np.float32), dimension)
        with np.errstate(over="ignore"):
            check_numbers(np.asarray(vectors, dtype=np.float32), dimension)


def _no_encoder(engine: Engine, advice: str) -> Problem:
    message = f"This model's encoder is not on this server: {advice}."
    return Problem(422, "encoder", message, hint=engine.encoder_problem)


async def _until_gone(request: Request) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(PRESENCE)
