"""Ready means warm: what the first request would have to wait for has run before the server says so."""

from __future__ import annotations

import asyncio
import io
import json
import threading

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from unembed import Inverter
from unembed.cli.serve import listen
from unembed.server.app import create_app
from unembed.server.http_server import HTTPServer
from unembed.server.monitoring import Log
from unembed.server.warm_up import warm_up_requests

HERE = "http://localhost"


def application(inverter: Inverter, log: io.StringIO | None = None) -> FastAPI:
    return create_app({"toy": inverter}, log=Log(file=log or io.StringIO()))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str]]:
    """Strategy, encoder and thread of every inversion."""
    seen: list[tuple[str, str | None, str]] = []
    invert = Inverter.invert

    def noting(self: Inverter, vectors: object, config: object, **how: object) -> object:
        seen.append((config.strategy, config.encoder, threading.current_thread().name))
        return invert(self, vectors, config, **how)

    monkeypatch.setattr(Inverter, "invert", noting)
    return seen


def test_health_says_ready_only_between_warm_up_and_stop(inverter: Inverter) -> None:
    app = application(inverter)
    service = app.state.service

    async def main() -> list[tuple[int, str]]:
        said = []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE) as client:

            async def ask() -> None:
                answer = await client.get("/health")
                said.append((answer.status_code, answer.json()["status"]))

            await ask()
            service.start()
            await ask()
            await service.warm_up()
            await ask()
            await service.stop()
            await ask()
        return said

    assert asyncio.run(main()) == [(503, "starting"), (503, "starting"), (200, "ok"), (503, "stopping")]


def test_a_decoding_and_a_search_ran_before_the_first_request(inverter: Inverter, ran: list) -> None:
    """On the thread that runs requests; they are not in the metrics."""
    with TestClient(application(inverter), base_url=HERE) as client:
        assert [(strategy, encoder) for strategy, encoder, _ in ran] == [
            ("confidence", None),
            ("guided", None),
        ]
        assert client.get("/health").json()["status"] == "ok"
        assert 'unembed_vectors_total{kind="invert"}' not in client.get("/metrics").text
        assert client.post("/api/invert", json={"texts": ["A dog."]}).status_code == 200
    assert len(ran) == 3
    assert len({thread for *_, thread in ran}) == 1


def test_without_an_encoder_a_vector_warms_the_model(inverter: Inverter, ran: list) -> None:
    log = io.StringIO()
    with TestClient(application(Inverter(inverter.checkpoint), log), base_url=HERE):
        assert [strategy for strategy, *_ in ran] == ["confidence"]
    assert "warm_up" not in log.getvalue()


def test_a_surrogate_spares_the_encoder(inverter: Inverter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder may be an endpoint that is paid by the call."""
    engine = application(inverter).state.service.engines["toy"]
    assert [request.encoder for request in warm_up_requests(engine)] == [None, None]
    monkeypatch.setattr(Inverter, "has_surrogate", True)
    assert [request.encoder for request in warm_up_requests(engine)] == [None, "surrogate"]


def test_a_warm_up_that_fails_is_logged_and_the_rest_is_served(
    inverter: Inverter, monkeypatch: pytest.MonkeyPatch
) -> None:
    invert = Inverter.invert

    def explode(self: Inverter, vectors: object, config: object, **how: object) -> object:
        if config.strategy == "guided":
            raise RuntimeError("the surrogate is broken")
        return invert(self, vectors, config, **how)

    monkeypatch.setattr(Inverter, "invert", explode)
    log = io.StringIO()
    with TestClient(application(inverter, log), base_url=HERE) as client:
        assert client.get("/health").status_code == 200
        assert client.post("/api/invert", json={"texts": ["A dog."]}).status_code == 200
    line = json.loads(log.getvalue().splitlines()[0])
    assert (line["event"], line["strategy"], line["error"]) == ("warm_up", "guided", "RuntimeError")


def test_the_server_announces_itself_when_it_is_warm(inverter: Inverter, ran: list) -> None:
    told: list[tuple[str, int]] = []

    def on_ready() -> None:
        told.append((server._service.status, len(ran)))
        server.should_exit = True

    server = HTTPServer(application(inverter), on_ready)
    server.run(sockets=[listen("127.0.0.1", 0)])
    assert told == [("ok", 2)]
