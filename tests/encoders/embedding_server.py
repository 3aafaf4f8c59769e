"""A real HTTP server that speaks `/v1/embeddings`, and fails on demand."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

KEY = "sk-test-0123456789"


@dataclass
class Endpoint:
    """The server's state: what it was asked, and what it shall do next."""

    url: str = ""
    dimension: int = 24
    knows_base64: bool = True
    reversed_order: bool = False
    key: str | None = KEY
    requests: list[dict[str, Any]] = field(default_factory=list)
    # Each is used up by one request: (status, headers, body), or a number of seconds to hang.
    troubles: deque[tuple[int, dict[str, str], Any] | float] = field(default_factory=deque)
    spoil: Any = None  # called on the answer's list of vectors

    def vector(self, text: str) -> np.ndarray:
        """A unit vector that only the text decides."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        vector = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        return vector / np.linalg.norm(vector)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        in_base64 = body.get("encoding_format") == "base64"
        data = []
        for index, text in enumerate(body["input"]):
            vector = self.vector(text)
            shown = base64.b64encode(vector.tobytes()).decode() if in_base64 else [float(x) for x in vector]
            data.append({"object": "embedding", "index": index, "embedding": shown})
        if self.reversed_order:
            data.reverse()
        if self.spoil is not None:
            self.spoil(data)
        return {"object": "list", "data": data, "model": body["model"]}


@contextmanager
def serve(endpoint: Endpoint) -> Iterator[Endpoint]:
    """Run it on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append(body)
            if endpoint.key is not None and self.headers["Authorization"] != f"Bearer {endpoint.key}":
                sent = self.headers["Authorization"] or ""
                message = f"Incorrect API key provided: {sent.removeprefix('Bearer ')}."
                return self.reply(401, {"error": {"message": message}})
            if endpoint.troubles:
                trouble = endpoint.troubles.popleft()
                if isinstance(trouble, float):
                    time.sleep(trouble)
                else:
                    return self.reply(trouble[0], trouble[2], trouble[1])
            if self.path != "/v1/embeddings":
                return self.reply(404, {"error": {"message": "Not found"}})
            if body["model"] != "toy":
                return self.reply(404, {"error": {"message": f"The model {body['model']} does not exist"}})
            if any(text == "" for text in body["input"]):
                return self.reply(400, {"error": {"message": "input cannot be an empty string"}})
            if "encoding_format" in body and not endpoint.knows_base64:
                return self.reply(422, {"detail": "encoding_format: extra fields not permitted"})
            return self.reply(200, endpoint.answer(body))

        def reply(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            try:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up waiting, as the test wanted

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
