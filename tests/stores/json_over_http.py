"""A server on loopback that speaks JSON: what the imitations of stores over HTTP share."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import Self


class JsonOverHttp:
    """Hands every request to `answer`, with its body as JSON; keeps what was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []  # method and path
        self.troubles: list[int] = []  # statuses to answer with, in turn
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.answer(self, json.loads(body) if body else None)

            do_GET = do_POST = do_DELETE = _any

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    @contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    def answer(self, handler: Any, body: Any) -> None:
        raise NotImplementedError


def send(handler: Any, status: int, content: Any) -> None:
    written = json.dumps(content).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(written)))
    handler.end_headers()
    handler.wfile.write(written)
