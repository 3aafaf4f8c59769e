"""uvicorn around the application: it listens, and it stops soon, whatever is running."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from unembed.server.service import Service


class HTTPServer(uvicorn.Server):
    """uvicorn, except that it says when it is ready, and that stopping begins with the queue.

    uvicorn waits for the requests that it holds before it ends the application. A search can take minutes:
    so its client is answered with 503 first, and then there is nothing to wait for.
    """

    def __init__(self, app: FastAPI, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=15,
                limit_concurrency=1024,
                timeout_graceful_shutdown=5,
                h11_max_incomplete_event_size=32_768,
            )
        )
        self._service: Service = app.state.service
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, which warms up, and then say so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer everybody, then close."""
        await self._service.stop()
        await super().shutdown(sockets)


def serve_until_stopped(app: FastAPI, sock: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve on a socket that listens, until SIGINT (Ctrl-C) or SIGTERM; call it on the main thread.

    `on_ready` is called once, when the next request is answered as fast as any other.
    """
    # uvicorn raises the signal again after it has shut down. By then all is in order: it is no error.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            HTTPServer(app, on_ready).run(sockets=[sock])
    finally:
        signal.signal(signal.SIGTERM, before)
