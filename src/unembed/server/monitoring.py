"""What the server tells its operator: JSON lines on stderr, and metrics for Prometheus.

Texts and vectors are in the log only where the user asked for that, and never in the metrics.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import IO, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unembed.server.problems import Problem

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


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
        trace = [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        self(event, content={"message": str(error)}, error=type(error).__name__, trace=trace, **fields)


class ServerMetrics:
    """The Prometheus metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "unembed_requests_total",
            "Requests by path and status.",
            ["path", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "unembed_request_seconds", "Time to answer.", ["path"], buckets=_SECONDS, registry=self.registry
        )
        self.vectors = Counter(
            "unembed_vectors_total", "Texts encoded and vectors inverted.", ["kind"], registry=self.registry
        )
        self.passes = Counter(
            "unembed_forward_passes_total", "Passes that vectors took part in.", registry=self.registry
        )
        self.calls = Counter(
            "unembed_encoder_calls_total", "Texts that searches embedded.", registry=self.registry
        )
        self.batch = Histogram(
            "unembed_batch_vectors", "Vectors per batch.", ["kind"], buckets=_SIZES, registry=self.registry
        )
        self.waited = Histogram(
            "unembed_queue_seconds", "Time in the queue.", buckets=_SECONDS, registry=self.registry
        )
        self.waiting = Gauge("unembed_queue_vectors", "Vectors that wait.", registry=self.registry)
        self.refused = Counter(
            "unembed_refused_total", "Requests refused, by reason.", ["code"], registry=self.registry
        )
        self.abandoned = Counter(
            "unembed_abandoned_total",
            "Requests whose client left or whose time ran out.",
            registry=self.registry,
        )

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


class Access:
    """Outermost: counts and logs every answer, and turns what nobody caught into a plain 500."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, log: Log, paths: frozenset[str]) -> None:
        self.app, self.metrics, self.log = app, metrics, log
        self.paths = paths  # those that have figures of their own; anything else is "other"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        path = scope["path"] if scope["path"] in self.paths else "other"

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:
            self.log.failure("failure", error, path=path)
            if status == 0:
                problem = Problem(500, "internal", "Something went wrong on the server; its log says what.")
                await problem.response()(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(seconds)
            fields = scope.get("state", {}).get("fields", {})
            content = scope.get("state", {}).get("content")
            self.log(
                "request",
                content=content,
                method=scope["method"],
                path=path,
                status=status,
                ms=round(1000 * seconds, 1),
                **fields,
            )
