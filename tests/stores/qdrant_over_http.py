"""Qdrant's REST interface in front of qdrant-client's own local mode: no package brings its server.

The answers are qdrant-client's models as JSON, so that the client under test reads what a server writes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QdrantOverHttp:
    """A server with a list of the requests that it got, and of troubles: statuses to answer with, in turn."""

    def __init__(self, client: Any, *, key: str | None = None) -> None:
        self.requests: list[tuple[str, str]] = []
        self.troubles: list[int] = []  # 0: hang up
        self.scrolls_left: int | None = None  # then it hangs up for good
        self._client, self._key = client, key
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._answer(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer._answer(self, json.loads(body))

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    @contextmanager
    def running(self) -> Iterator[QdrantOverHttp]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    def _answer(self, handler: Any, body: Any) -> None:
        with self._lock:
            path = handler.path.split("?")[0]
            self.requests.append((handler.command, path))
            if path.endswith("/scroll") and self.scrolls_left is not None:
                self.scrolls_left -= 1
                if self.scrolls_left < 0:
                    handler.close_connection = True
                    handler.connection.close()
                    return
            status = self.troubles.pop(0) if self.troubles else 200
            if self._key is not None and handler.headers.get("api-key") != self._key:
                status = 401
            if status == 0:
                handler.close_connection = True
                handler.connection.close()
                return
            result: Any = {"error": "trouble"} if status != 200 else self._result(path, body)
        if result is None:
            status, result = 404, {"error": "not found"}
        whole = {"result": result, "status": "ok", "time": 0.0} if status == 200 else {"status": result}
        written = json.dumps(whole).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(written)))
        handler.end_headers()
        handler.wfile.write(written)

    def _result(self, path: str, body: Any) -> Any:
        parts = path.strip("/").split("/")
        if parts == ["aliases"]:
            return self._client.get_aliases().model_dump(mode="json")
        if parts == ["collections"]:
            return self._client.get_collections().model_dump(mode="json")
        if parts[0] != "collections" or not self._client.collection_exists(parts[1]):
            return None
        name, rest = parts[1], parts[2:]
        if not rest:
            return self._client.get_collection(name).model_dump(mode="json")
        if rest == ["points", "count"]:
            return {"count": self._client.count(name, exact=body.get("exact", True)).count}
        if rest == ["points", "scroll"]:
            points, after = self._client.scroll(
                name,
                limit=body["limit"],
                offset=body.get("offset"),
                with_payload=body.get("with_payload", True),
                with_vectors=body.get("with_vector", False),
            )
            return {"points": [point.model_dump(mode="json") for point in points], "next_page_offset": after}
        return None
