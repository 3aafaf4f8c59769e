"""Debian's Chromium, driven by Playwright, against a server that runs here on a tiny real checkpoint."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from running import PATIENCE, Running

import tiny
import toy
from unembed import Inverter

playwright_api = pytest.importorskip("playwright.sync_api")


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("UNEMBED_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def inverter() -> Inverter:
    encoder = toy.ToyEncoder(dimension=64, tokenizer=toy.wordpiece())
    model = tiny.checkpoint(encoder.tokenizer(), encoder.info, fit_to=encoder.encode(toy.sentences(300)))
    return Inverter(model, encoder=encoder)


@pytest.fixture(scope="session")
def server(inverter: Inverter) -> Iterator[Running]:
    with Running(inverter) as running:
        yield running


# A module, not a session: Playwright keeps an event loop running in this thread for as long as it lives,
# and other tests have loops of their own.
@pytest.fixture(scope="module")
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
