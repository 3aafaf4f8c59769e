"""Take the README's pictures of the page anew: `python docs/screenshots.py` (needs Chromium and Playwright).

The sentence is the same for every model, and what comes back is what comes back.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
SENTENCE = "My sister bought a new car last week."
PATIENCE = 120_000  # milliseconds


@contextmanager
def serving() -> Iterator[str]:
    """`unembed serve` with the bundled model, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "unembed", "serve", "--port", str(port)])
    url = f"http://127.0.0.1:{port}/"
    try:
        while server.poll() is None:
            try:
                urllib.request.urlopen(f"{url}health").close()
                break
            except OSError:
                time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(20)


def encode(page: Any, url: str) -> None:
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.wait_for_selector("html[data-ready]", state="attached")
    page.fill("#text", SENTENCE)
    page.click("#encode")
    page.wait_for_selector("#invert-panel:not([hidden])")


def spoil(page: Any, *, precision: str = "float32", noise: float = 0.0) -> None:
    """Change the vector, and wait until it was read again."""
    with page.expect_response("**/api/invert**"):
        page.check(f"input[value={precision}]", force=True)
        page.evaluate(
            "(value) => { const n = document.getElementById('noise'); n.value = value;"
            " n.dispatchEvent(new Event('input')); }",
            noise,
        )
    page.wait_for_timeout(1500)  # the stream after the response, and the drawing


def main() -> None:
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        desktop = browser.new_context(
            viewport={"width": 1040, "height": 900}, reduced_motion="reduce", color_scheme="light"
        ).new_page()
        encode(desktop, url)
        desktop.click("#invert")
        desktop.wait_for_selector("#result-panel:not([hidden])")
        spoil(desktop, precision="int8")
        spoil(desktop, precision="binary")
        spoil(desktop, noise=0.8)
        spoil(desktop)
        desktop.screenshot(path=IMAGES / "serve-light.png", full_page=True)
        phone = browser.new_context(
            viewport={"width": 390, "height": 844}, color_scheme="dark", device_scale_factor=2
        ).new_page()
        encode(phone, url)
        phone.click("#invert")
        phone.wait_for_function(
            "() => document.querySelectorAll('.tok:not(.mask)').length >= 3"
            " && document.querySelectorAll('.tok.mask').length >= 2"
        )
        phone.locator("#invert-panel").scroll_into_view_if_needed()
        phone.screenshot(path=IMAGES / "serve-phone-dark.png")
        browser.close()


if __name__ == "__main__":
    main()
