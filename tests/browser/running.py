"""A real server in a thread, for browsers to open."""

from __future__ import annotations

import io
import socket
import threading

from unembed import Inverter
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.http_server import HTTPServer
from unembed.server.monitoring import Log

PATIENCE = 60_000  # milliseconds, for machines that have other things to do


class Running(threading.Thread):
    """A real server on a free port."""

    def __init__(self, inverter: Inverter, name: str = "toy", **settings: object) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        app = create_app({name: inverter}, ServeConfig(**settings), log=Log(file=io.StringIO()))
        self._ready = threading.Event()
        self.server = HTTPServer(app, self._ready.set)

    def run(self) -> None:
        self.server.run(sockets=[self.socket])

    def __enter__(self) -> Running:
        self.start()
        assert self._ready.wait(PATIENCE / 1000)
        return self

    def __exit__(self, *error: object) -> None:
        self.server.should_exit = True
        self.join(10)
