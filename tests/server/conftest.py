"""A server over a tiny real checkpoint, in memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from fastapi.testclient import TestClient

import tiny
import toy
from unembed import Inverter
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.monitoring import Log


@pytest.fixture(scope="session")
def inverter() -> Inverter:
    encoder = toy.ToyEncoder(tokenizer=toy.wordpiece())
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=encoder.encode(toy.sentences(200)))
    model.denoiser.double()  # so that the batch's size does not show in the last bits
    return Inverter(model, encoder=encoder)


@pytest.fixture(scope="session")
def vectors(inverter: Inverter) -> np.ndarray:
    return inverter.encode(toy.sentences(24))


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def serve(inverter: Inverter, log: io.StringIO) -> Iterator[Callable[..., TestClient]]:
    """Clients of servers with these settings."""
    clients = []

    def start(**settings: object) -> TestClient:
        config = ServeConfig(**settings)
        app = create_app({"toy": inverter}, config, log=Log(content=config.log_content, file=log))
        client = TestClient(app, base_url="http://127.0.0.1:8080", raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    return serve()
