"""Debian's Chromium, driven by Playwright, against a server that runs here on a tiny real checkpoint."""

from __future__ import annotations

import io
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

import tiny
import toy
from unembed import Inverter
from unembed.server.app import create_app
from unembed.server.config import ServeConfig
from unembed.server.logs import Log

playwright_api = pytest.importorskip("playwright.sync_api")
PATIENCE = 60_000  # milliseconds, for machines that have other things to do


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("UNEMBED_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def inverter() -> Inverter:
    encoder = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=encoder.encode(toy.sentences(300)))
    out = Inverter(model)
    out.__dict__["encoder"] = encoder
    return out


class Running(threading.Thread):
    """A real server on a free port."""

    def __init__(self, inverter: Inverter, name: str = "toy", **settings: object) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        app = create_app({name: inverter}, ServeConfig(**settings), log=Log(file=io.StringIO()))
        self.server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))

    def run(self) -> None:
        self.server.run(sockets=[self.socket])

    def __enter__(self) -> Running:
        self.start()
        while not self.server.started:
            time.sleep(0.02)
        return self

    def __exit__(self, *error: object) -> None:
        self.server.should_exit = True
        self.join(10)


@pytest.fixture(scope="session")
def server(inverter: Inverter) -> Iterator[Running]:
    with Running(inverter) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    path = chromium()
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium, or set UNEMBED_CHROMIUM")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: object, server: Running) -> Iterator[object]:
    """The page, ready; whatever the console complains about fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.complaints = complaints
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]", state="attached")
    yield page
    context.close()
    assert complaints == []
